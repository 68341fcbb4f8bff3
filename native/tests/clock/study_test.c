/* Tests the arithmetic of the studies on values with a known result. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "allan.h"
#include "beat.h"
#include "check.h"
#include "disciplined.h"
#include "ntp_packet.h"
#include "reference.h"
#include "spread.h"

enum { N = 4096 };

/* White phase noise: sigma_y(tau) = sqrt(3) sigma_x / tau (Riley, NIST SP 1065, table 4). */
static void white_phase_noise_falls_with_tau(void) {
    static double x[N];
    uint64_t seed = 1;
    double sigma = 0, step = 0.01;
    for (int i = 0; i < N; ++i) {
        x[i] = (random_unit(&seed) - 0.5) * 1e-6;
        sigma += x[i] * x[i] / N;
    }
    sigma = sqrt(sigma);
    for (size_t m = 1; m <= 16; m *= 4) {
        double expected = sqrt(3) * sigma / ((double)m * step);
        CHECK_NEAR(allan_deviation(x, N, step, m) / expected, 1, 0.1);
    }
}

static void a_constant_rate_has_no_deviation_and_a_drift_has_its_own(void) {
    static double steady[N], drifting[N];
    double step = 0.5;
    for (int i = 0; i < N; ++i) {
        double t = i * step;
        steady[i] = 3 + 30e-6 * t;
        drifting[i] = 0.5 * 1e-9 * t * t;
    }
    CHECK(allan_deviation(steady, N, step, 8) < 1e-12);
    /* The Allan deviation of a linear frequency drift D is D tau / sqrt(2). */
    CHECK_NEAR(allan_deviation(drifting, N, step, 8) / (1e-9 * 8 * step / sqrt(2)), 1, 1e-6);
    CHECK(isnan(allan_deviation(steady, 10, step, 5)));
    CHECK(isnan(allan_deviation(steady, 10, step, 0)));
}

static void irregular_looks_are_put_on_a_grid(void) {
    const double at[] = {0, 0.9, 2.1, 3.0}, values[] = {0, 9, 21, 30};
    double regular[5];
    allan_regular(at, values, 4, 1, regular, 5);
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(regular[i], 10 * i, 1e-9);
    }
    CHECK_NEAR(regular[4], 30, 1e-9);
    CHECK_NEAR(allan_slope(at, values, 4), 10, 1e-9);
}

static void intervals_are_students(void) {
    struct spread spread = {0};
    for (int i = 0; i < 9; ++i) {
        spread_add(&spread, i);
    }
    CHECK(isnan(spread_half_width_999(&spread)));
    for (int i = 9; i < 11; ++i) {
        spread_add(&spread, i);
    }
    CHECK_NEAR(spread.mean, 5, 1e-12);
    CHECK_NEAR(spread_sd(&spread), sqrt(11), 1e-12);
    /* t(0.9995, 10) = 4.5869 */
    CHECK_NEAR(spread_half_width_999(&spread), 4.5869 * sqrt(11) / sqrt(11), 0.005);
}

static size_t planted(double* at, double period, double length, double lost, uint64_t* seed) {
    size_t count = 0;
    for (double t = 0.0037; t < length; t += period) {
        if (random_unit(seed) >= lost) {
            at[count++] = t + random_unit(seed) * 0.001;
        }
    }
    return count;
}

static void a_planted_beat_is_found_at_its_rate(void) {
    static double at[N];
    uint64_t seed = 2;
    for (double period = 0.005; period < 0.1; period *= 2) {
        size_t count = planted(at, period, 5, 0.1, &seed);
        struct beat beat = beat_find(at, count, 5, 0.001);
        CHECK_NEAR(beat.rate_hz * period, 1, 0.01);
        CHECK(beat.share > 0.8);
    }
}

static int by_size(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void a_beat_is_found_among_as_many_other_interruptions(void) {
    static double at[N];
    uint64_t seed = 3;
    size_t count = planted(at, 0.02, 5, 0, &seed);
    for (size_t others = count / 2; others > 0; --others) {
        at[count++] = random_unit(&seed) * 5;
    }
    qsort(at, count, sizeof(*at), by_size);
    CHECK_NEAR(beat_find(at, count, 5, 0.001).rate_hz, 50, 0.5);
}

/* Events at random, and in bursts such as another program's. */
static void no_beat_is_invented(void) {
    static double at[N];
    uint64_t seed = 4;
    for (int trial = 0; trial < 40; ++trial) {
        size_t count = 10 + random_below(&seed, 300), burst = 1 + random_below(&seed, 20);
        for (size_t i = 0; i < count; i += burst) {
            double moment = random_unit(&seed) * 4.8;
            for (size_t k = i; k < count && k < i + burst; ++k) {
                at[k] = moment + random_unit(&seed) * 0.2;
            }
        }
        qsort(at, count, sizeof(*at), by_size);
        CHECK(beat_find(at, count, 5, 0.001).rate_hz == 0);
    }
    CHECK(beat_find(at, 9, 5, 0.001).rate_hz == 0);
}

static void ntp_times_come_back_to_the_nanosecond(void) {
    uint64_t seed = 5;
    for (int i = 0; i < 100000; ++i) {
        uint64_t ns =
            random_below(&seed, 2000000000) * 1000000000 + random_below(&seed, 1000000000);
        CHECK(ntp_to_ns(ntp_from_ns(ns)) == ns);
    }
    CHECK(ntp_from_ns(0) == 2208988800ULL << 32);
}

static void an_exchange_gives_offset_and_delay(void) {
    uint8_t request[NTP_PACKET], answer[NTP_PACKET];
    const uint64_t base = 1700000000ULL * 1000000000;
    struct ntp_exchange out;
    ntp_request(request, 77);
    /* Our clock is 5 ms behind; a packet takes 30 us there, 2 us in the server and 10 us back. */
    CHECK(ntp_answer(request, sizeof(request), base + 5030000, base + 5032000, answer));
    CHECK(ntp_read_answer(answer, sizeof(answer), 77, base, base + 42000, &out));
    CHECK_NEAR(out.offset_ns, 5010000, 2);
    CHECK_NEAR(out.delay_ns, 40000, 2);
}

static void a_foreign_or_damaged_answer_is_dropped(void) {
    uint8_t request[NTP_PACKET], answer[NTP_PACKET];
    const uint64_t base = 1700000000ULL * 1000000000;
    struct ntp_exchange out;
    ntp_request(request, 77);
    CHECK(ntp_answer(request, sizeof(request), base, base, answer));
    CHECK(!ntp_read_answer(answer, sizeof(answer), 78, base, base, &out));
    CHECK(!ntp_read_answer(answer, sizeof(answer) - 1, 77, base, base, &out));
    CHECK(!ntp_read_answer(request, sizeof(request), 77, base, base, &out));
    uint8_t unsynchronised[NTP_PACKET], kiss[NTP_PACKET];
    memcpy(unsynchronised, answer, sizeof(answer));
    unsynchronised[0] |= 0xc0;
    CHECK(!ntp_read_answer(unsynchronised, sizeof(answer), 77, base, base, &out));
    memcpy(kiss, answer, sizeof(answer));
    kiss[1] = 0;
    CHECK(!ntp_read_answer(kiss, sizeof(answer), 77, base, base, &out));
    CHECK(!ntp_answer(answer, sizeof(answer), base, base, kiss));
    CHECK(!ntp_answer(request, 10, base, base, kiss));
}

static void a_step_is_at_once_and_a_slew_never_goes_back(void) {
    struct disciplined stepped = {0}, slewed = {.slews = 1};
    disciplined_correct(&stepped, 1000, -400);
    CHECK(disciplined_at(&stepped, 1000) == 600);
    disciplined_correct(&slewed, 1000000, -400);
    uint64_t last = disciplined_at(&slewed, 1000000);
    CHECK(last == 1000000);
    for (uint64_t local = 1000000; local < 3000000; local += 100) {
        uint64_t now = disciplined_at(&slewed, local);
        CHECK(now >= last);
        last = now;
    }
    CHECK(disciplined_at(&slewed, 1400000) == 1400000 - 200); /* 500 ppm */
    CHECK(disciplined_at(&slewed, 2000000) == 2000000 - 400);
    disciplined_correct(&slewed, 2000000, 100);
    CHECK(disciplined_at(&slewed, 3000000) == 3000000 - 300);
}

static void pulses_are_read(void) {
    uint64_t ns;
    CHECK(reference_parse_pulse("1700000000.000000250#12", &ns));
    CHECK(ns == 1700000000000000250);
    CHECK(!reference_parse_pulse("0.000000000#0", &ns));
    CHECK(!reference_parse_pulse("1700000000.25#12", &ns));
    CHECK(!reference_parse_pulse("", &ns));
}

int main(void) {
    RUN(white_phase_noise_falls_with_tau);
    RUN(a_constant_rate_has_no_deviation_and_a_drift_has_its_own);
    RUN(irregular_looks_are_put_on_a_grid);
    RUN(intervals_are_students);
    RUN(a_planted_beat_is_found_at_its_rate);
    RUN(a_beat_is_found_among_as_many_other_interruptions);
    RUN(no_beat_is_invented);
    RUN(ntp_times_come_back_to_the_nanosecond);
    RUN(an_exchange_gives_offset_and_delay);
    RUN(a_foreign_or_damaged_answer_is_dropped);
    RUN(a_step_is_at_once_and_a_slew_never_goes_back);
    RUN(pulses_are_read);
    return 0;
}

/* Tests whether a reading decreases while another thread refines the rate. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "bench.h"

enum { READERS = 2, READS_PER_COMPARISON = 1000 };
/* After so short a calibration a clock's rate is inaccurate, so that refinements change it most. */
enum { CALIBRATION_NS = 1000000 };
/* Readings after which a new clock begins, since refinements change the rate less and less. */
enum { READS_PER_CLOCK = 10000000 };

struct track {
    _Alignas(128) _Atomic uint64_t last; /* published for the other reader */
};

struct refined {
    struct rvec* rvec;
    uint64_t reads; /* by each reader */
    struct track tracks[READERS];
    atomic_int reading;
};

struct reading_thread {
    struct refined* refined;
    int place;
    uint64_t violations;
    uint64_t furthest_ns;
};

/* Counts readings that are not above the reader's previous one, or not above what the other
 * reader had published before. */
static void* read_on(void* argument) {
    struct reading_thread* me = argument;
    struct refined* refined = me->refined;
    struct track* other = &refined->tracks[(me->place + 1) % READERS];
    struct rvec_clock clock;
    rvec_attach_process(refined->rvec, &clock);
    uint64_t last = 0;
    for (uint64_t done = 0; done < refined->reads; done += READS_PER_COMPARISON) {
        uint64_t published = atomic_load_explicit(&other->last, memory_order_acquire);
        last = published > last ? published : last;
        for (int i = 0; i < READS_PER_COMPARISON; ++i) {
            uint64_t now = rvec_read(&clock);
            if (now <= last) {
                me->violations += 1;
                me->furthest_ns = last - now > me->furthest_ns ? last - now : me->furthest_ns;
            }
            last = now;
        }
        atomic_store_explicit(&refined->tracks[me->place].last, last, memory_order_release);
    }
    atomic_fetch_sub(&refined->reading, 1);
    return NULL;
}

struct counts {
    uint64_t violations;
    uint64_t furthest_ns; /* largest step back */
    uint64_t rate_changes;
    uint64_t jumps; /* that the clock reports, although the counter makes none */
    uint64_t doubt_ns;
};

/* One clock, refined without a pause until its readers have ended. */
static int refine_one(uint64_t reads, struct counts* counts) {
    struct rvec_options options = {0};
    options.calibration_ns = CALIBRATION_NS;
    struct refined refined = {NULL, reads / READERS, {{0}, {0}}, READERS};
    int status = rvec_open(&refined.rvec, &options);
    if (status != RVEC_OK) {
        fprintf(stderr, "aferir-clock-bench: %s\n", rvec_strerror(status));
        return 1;
    }
    struct reading_thread readers[READERS] = {{&refined, 0, 0, 0}, {&refined, 1, 0, 0}};
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; ++i) {
        pthread_create(&threads[i], NULL, read_on, &readers[i]);
    }
    while (atomic_load(&refined.reading) > 0) {
        rvec_refine(refined.rvec);
    }
    for (int i = 0; i < READERS; ++i) {
        pthread_join(threads[i], NULL);
        counts->violations += readers[i].violations;
        uint64_t furthest_ns = readers[i].furthest_ns;
        counts->furthest_ns = furthest_ns > counts->furthest_ns ? furthest_ns : counts->furthest_ns;
    }
    struct rvec_facts facts;
    rvec_info(refined.rvec, &facts);
    counts->rate_changes += facts.rate_changes;
    counts->jumps += facts.jumps;
    counts->doubt_ns += facts.doubt_ns;
    rvec_close(refined.rvec);
    return 0;
}

int bench_refinements(const struct bench_options* options) {
    uint64_t reads = options->reads;
    struct counts counts = {0, 0, 0, 0, 0};
    uint64_t start = bench_raw_ns(), done = 0;
    while (done < reads) {
        uint64_t left = reads - done;
        uint64_t piece = left < READS_PER_CLOCK ? left : READS_PER_CLOCK;
        if (refine_one(piece, &counts) != 0) {
            return 1;
        }
        done += piece;
    }
    printf(
        "{\"bench\": \"ecp\", \"case\": \"refinements\", \"reads\": %llu, \"rate_changes\": %llu, "
        "\"jumps\": %llu, \"doubt_ns\": %llu, \"violations\": %llu, \"furthest_ns\": %llu, "
        "\"seconds\": %.3f}\n",
        (unsigned long long)done, (unsigned long long)counts.rate_changes,
        (unsigned long long)counts.jumps, (unsigned long long)counts.doubt_ns,
        (unsigned long long)counts.violations, (unsigned long long)counts.furthest_ns,
        (double)(bench_raw_ns() - start) / 1e9);
    return 0;
}

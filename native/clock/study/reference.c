#define _GNU_SOURCE
#include "reference.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "clocks.h"

enum { DEVICES = 4, LOOKS = 5 };

/* clock_getres(2), "Dynamic clocks": the kernel's FD_TO_CLOCKID. */
static clockid_t clock_of_file(int file) { return (clockid_t)((~(unsigned)file << 3) | 3U); }

static int read_line(const char* path, char* line, size_t size) {
    FILE* file = fopen(path, "re");
    int got = file != NULL && fgets(line, (int)size, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    line[got ? strcspn(line, "\n") : 0] = '\0';
    return got;
}

static struct reference named(const char* name, clockid_t clock) {
    struct reference reference = {.accuracy_s = NAN, .clock = clock, .file = -1};
    snprintf(reference.name, sizeof(reference.name), "%s", name);
    return reference;
}

/* A hardware clock of a network card, or of the host under a guest (ptp_kvm). */
static int find_hardware(int number, struct reference* out) {
    char path[64], kind[48] = "";
    snprintf(path, sizeof(path), "/dev/ptp%d", number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    *out = named(path, clock_of_file(file));
    out->file = file;
    out->external = 1;
    struct timespec time;
    if (clock_gettime(out->clock, &time) != 0) {
        close(file);
        return 0;
    }
    snprintf(path, sizeof(path), "/sys/class/ptp/ptp%d/clock_name", number);
    if (read_line(path, kind, sizeof(kind))) {
        snprintf(out->name, sizeof(out->name), "/dev/ptp%d (%s)", number, kind);
    }
    return 1;
}

static int find_pulses(int number, struct reference* out) {
    char line[64], name[32];
    snprintf(name, sizeof(name), "/dev/pps%d", number);
    *out = named(name, CLOCK_REALTIME);
    out->external = 1;
    snprintf(out->pulses, sizeof(out->pulses), "/sys/class/pps/pps%d/assert", number);
    uint64_t ns;
    return read_line(out->pulses, line, sizeof(line)) && reference_parse_pulse(line, &ns);
}

/* Looks for the system's time as a reference, if a daemon says that it has synchronised it. It only
 * asks: adjtimex(2) with modes 0 changes nothing. */
static int find_disciplined(struct reference* out) {
    struct timex state = {0};
    if (adjtimex(&state) == -1 || (state.status & STA_UNSYNC) != 0) {
        return 0;
    }
    *out = named("REALTIME, synchronised", CLOCK_REALTIME);
    out->external = 1;
    out->accuracy_s = (double)state.maxerror * 1e-6;
    return 1;
}

int references_find(struct reference found[MOST_REFERENCES]) {
    int count = 0;
    for (int number = 0; number < DEVICES && count < MOST_REFERENCES - 3; ++number) {
        count += find_hardware(number, &found[count]);
    }
    for (int number = 0; number < DEVICES && count < MOST_REFERENCES - 3; ++number) {
        count += find_pulses(number, &found[count]);
    }
    if (find_disciplined(&found[count])) {
        ++count;
    } else {
        found[count++] = named("REALTIME, same oscillator", CLOCK_REALTIME);
    }
    found[count++] = named("RAW, same oscillator", CLOCK_MONOTONIC_RAW);
    return count;
}

void references_close(struct reference* references, int count) {
    for (int i = 0; i < count; ++i) {
        if (references[i].file >= 0) {
            close(references[i].file);
        }
    }
}

uint64_t reference_now(const struct reference* reference) {
    return clocks_system_ns(reference->clock);
}

int reference_parse_pulse(const char* line, uint64_t* realtime_ns) {
    unsigned long long seconds;
    char fraction[16] = "";
    unsigned sequence;
    if (sscanf(line, "%llu.%9[0-9]#%u", &seconds, fraction, &sequence) != 3 ||
        strlen(fraction) != 9 || sequence == 0) {
        return 0;
    }
    unsigned long nanoseconds = 0;
    for (const char* digit = fraction; *digit != '\0'; ++digit) {
        nanoseconds = nanoseconds * 10 + (unsigned long)(*digit - '0');
    }
    *realtime_ns = (uint64_t)seconds * 1000000000U + nanoseconds;
    return 1;
}

int reference_look(const struct reference* reference, struct rvec_clock* local,
                   struct moment* moment) {
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < LOOKS; ++i) {
        uint64_t before = rvec_read(local);
        uint64_t there = reference_now(reference);
        uint64_t after = rvec_read(local);
        if (after - before < shortest) {
            shortest = after - before;
            moment->reference_ns = there;
            moment->local_ns = before + shortest / 2;
            moment->doubt_ns = shortest / 2;
        }
    }
    if (reference->pulses[0] == '\0') {
        return 1;
    }
    /* A pulse marks a full second; CLOCK_REALTIME only serves to place that moment on our clock. */
    char line[64];
    uint64_t pulse;
    if (!read_line(reference->pulses, line, sizeof(line)) || !reference_parse_pulse(line, &pulse) ||
        pulse > moment->reference_ns) {
        return 0;
    }
    moment->local_ns -= moment->reference_ns - pulse;
    moment->reference_ns = (pulse + 500000000U) / 1000000000U * 1000000000U;
    return 1;
}

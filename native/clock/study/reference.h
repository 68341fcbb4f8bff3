/* Clocks to compare ours with: hardware clocks (PTP), pulses (PPS), the system's disciplined time,
 * and the kernel's own clocks on the same oscillator. */
#ifndef AFERIR_CLOCK_REFERENCE_H
#define AFERIR_CLOCK_REFERENCE_H

#include <stdint.h>
#include <time.h>

#include "aferir/rvec.h"

enum { MOST_REFERENCES = 8 };

struct reference {
    char name[96];
    int external;      /* has an oscillator of its own, as far as can be known */
    double accuracy_s; /* as it states itself; NaN: it states none */
    clockid_t clock;
    int file;         /* must stay open; -1: none */
    char pulses[128]; /* PPS: the file of its last pulse; else empty */
};

/* One moment, by the reference and by our clock; `doubt_ns`: half of the time that reading took. */
struct moment {
    uint64_t reference_ns;
    uint64_t local_ns;
    uint64_t doubt_ns;
};

/* Finds references, external ones first; CLOCK_MONOTONIC_RAW always exists and is last. Returns
 * their number. */
int references_find(struct reference found[MOST_REFERENCES]);
void references_close(struct reference* references, int count);

uint64_t reference_now(const struct reference* reference);
/* Reads both clocks, and keeps the shortest of several readings. Returns 0 if there is nothing new,
 * i.e. no further pulse. */
int reference_look(const struct reference* reference, struct rvec_clock* local,
                   struct moment* moment);

/* Parses a line "seconds.nanoseconds#sequence" of /sys/class/pps/pps0/assert: time of the last
 * pulse by CLOCK_REALTIME (Documentation/driver-api/pps.rst). Returns 0 if it is not one. */
int reference_parse_pulse(const char* line, uint64_t* realtime_ns);

#endif

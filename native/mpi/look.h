/* The client's side of one look at another host's clock, over any way of sending questions. */
#ifndef AFERIR_MPI_LOOK_H
#define AFERIR_MPI_LOOK_H

#include <stdint.h>

#include "filter.h"

/* Answer of a host that has the global time. */
struct answer {
    uint64_t time_ns;  /* global */
    uint32_t doubt_ns; /* half of the interval that contains the true one; UINT32_MAX: or more */
    uint32_t core;     /* core that it ran on, by its kernel's number */
};

struct asker {
    void* context;
    uint64_t (*now_ns)(void* context); /* the local clock */
    /* Returns 1, or 0 if the connection is broken. `last`: no other question will follow. */
    int (*ask)(void* context, int last, struct answer* answer);
};

struct look_result {
    int64_t offset_ns; /* global minus local time ... */
    uint64_t local_ns; /* ... at this local time */
    uint64_t doubt_ns; /* of the parent and of this look together */
    int64_t min_rtt_ns;
    double rate_ppb; /* global against local time; 0 after one look, or if not distinguishable */
    double rate_doubt_ppb; /* largest error of the rate, without wander */
    uint32_t exchanges;
};

/* Exchanges messages until the stop rule of Dutra 2015 (section 7.3) holds or the limit of
 * messages is reached. Returns 1, or 0 without a result; `out->exchanges` is set in that case
 * too. */
int look_at(const struct asker* asker, struct look_result* out);

/* Sets the rate of `second` from both looks, as librgap does. If the looks are too close in time
 * for a useful rate, it stays 0, and its uncertainty is the largest difference in rate of two
 * oscillators. */
void look_rate(const struct look_result* first, struct look_result* second);

/* Global minus local time at a given local time, by offset and rate. */
int64_t look_offset_at(const struct look_result* look, uint64_t local_ns);

struct filter_rule look_rule(void);
uint32_t look_most_exchanges(void);

#endif

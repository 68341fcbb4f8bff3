/* The client's side of one look at another host's clock, over whatever carries its questions. */
#ifndef AFERIR_MPI_LOOK_H
#define AFERIR_MPI_LOOK_H

#include <stdint.h>

#include "filter.h"

/* What a host that knows the time says. */
struct answer {
    uint64_t time_ns;  /* global */
    uint32_t doubt_ns; /* half of the interval that holds the true one; UINT32_MAX: or more */
    uint32_t core;     /* that it was on, by the number that the kernel of its machine has for it */
};

struct asker {
    void* context;
    uint64_t (*now_ns)(void* context); /* the local clock */
    /* 1, or 0 when the way is broken. `last`: no other question can follow. */
    int (*ask)(void* context, int last, struct answer* answer);
};

struct look_result {
    int64_t offset_ns; /* global minus local time ... */
    uint64_t local_ns; /* ... at this local time */
    uint64_t doubt_ns; /* the parent's and this look's together */
    int64_t min_rtt_ns;
    double rate_ppb; /* of global against local time; 0 after one look, or where not told from 0 */
    double rate_doubt_ppb; /* largest error of it, without wander */
    uint32_t exchanges;
};

/* Exchanges until the stop rule of Dutra 2015 (section 7.3) holds or the bound on messages is
 * reached. 1, or 0 when nothing can be said. `out->exchanges` is given in that case too. */
int look_at(const struct asker* asker, struct look_result* out);

/* Sets the rate of `second` from both looks, as librgap does. It is left at 0, with the largest
 * rate of two oscillators as its doubt, where the looks are too near to each other for a better. */
void look_rate(const struct look_result* first, struct look_result* second);

/* Global minus local time at that local time, by offset and rate. */
int64_t look_offset_at(const struct look_result* look, uint64_t local_ns);

struct filter_rule look_rule(void);
uint32_t look_most_exchanges(void);

#endif

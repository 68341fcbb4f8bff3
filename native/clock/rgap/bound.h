/* Computes global time and its bound from looks: pure arithmetic.
 *
 *     global = local + offset + rate * (local - reference) + what is left of an old reading
 *     bound  = half-width of the offset's interval + the server's own bound
 *            + (rate doubt + wander + the server's rate doubt) * elapsed
 *            + what is left of an old reading + what the local clock admits */
#ifndef AFERIR_CLOCK_BOUND_H
#define AFERIR_CLOCK_BOUND_H

#include "aferir/rgap.h"
#include "filter.h"

/* Result of one look at the server, with the server's own statements. */
struct look {
    struct estimate estimate;
    uint64_t server_bound_ns;
    uint32_t server_rate_doubt_ppb;
    uint32_t revision;
    uint64_t timeline;
    uint8_t level;
    struct rgap_doubt doubt; /* of the local clock at the look */
};

struct oscillators {
    double rate_limit_ppb;
    double wander_ppb;
};

/* All fields are eight bytes wide: a reader copies them one by one. */
struct model {
    uint64_t local_ref_ns;
    int64_t offset_ns;
    double rate_ppb;
    double rate_doubt_ppb; /* own, without wander */
    double growth_ppb;     /* of the bound: own and server's doubt, and wander */
    uint64_t half_ns;      /* bound at local_ref_ns */
    uint64_t doubt_ns;     /* the local clock's, at local_ref_ns */
    double doubt_ppb;
    uint64_t slew_from_ns; /* local time since which ... */
    int64_t slew_ns;       /* ... this much of the old time is being given up */
    uint64_t looks;
};

struct model rgap_model_first(const struct look* look, const struct oscillators* limits);
/* Model from two looks at one server; from the second alone if the server was set anew in
 * between. */
struct model rgap_model_second(const struct look* first, const struct look* second,
                               const struct oscillators* limits);
/* Lets `model` continue at the time that `old` shows at `local_ns`: the difference is then given up
 * slowly, so that the time neither steps back nor jumps. */
void rgap_model_take_over(struct model* model, const struct model* old, uint64_t local_ns);

void rgap_model_read(const struct model* model, uint64_t local_ns, const struct rgap_doubt* doubt,
                     uint64_t* time_ns, uint64_t* bound_ns);

/* Rate in ppb at which the bound may grow at `local_ns`, for nodes that synchronise with this
   one. */
double rgap_model_rate_doubt_ppb(const struct model* model, uint64_t local_ns);

#endif

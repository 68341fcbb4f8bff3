/* Determines the offset of two clocks from many exchanges of messages.
 *
 * The difference of a way's two stamps is its delay, off by the unknown offset. No delay is below
 * the smallest one of its direction, so the offset lies between minus the shortest way back and the
 * shortest way there: that interval is certain. Taking each way's minimum by itself is never
 * worse than the pair of the smallest round trip (Dutra 2015, equation 6.2), and on a veth pair
 * halved the error. The estimate inside is taken from each way's 10th percentile, because a
 * minimum is the one sample that noise of the stamps themselves has made short. */
#ifndef AFERIR_CLOCK_FILTER_H
#define AFERIR_CLOCK_FILTER_H

#include <stdint.h>

enum { FILTER_SMALLEST = 64, FILTER_KEPT = 1024 };

/* t1 and t4 on the local clock, t2 and t3 on the server's. */
struct sample {
    uint64_t t1, t2, t3, t4;
    uint32_t error_ns; /* of the local stamps, together */
};

struct filter_rule {
    uint32_t discard;
    uint32_t smallest;
    uint32_t min_exchanges;
    uint32_t max_exchanges;
    double spread_ns;
    double rate_limit_ppm;
};

struct filter {
    struct filter_rule rule;
    uint32_t seen;
    uint32_t kept;
    struct sample sample[FILTER_KEPT]; /* the latest ones, as a ring buffer */
    int64_t smallest[FILTER_SMALLEST]; /* round trips in rising order */
    uint32_t smallest_count;
};

struct estimate {
    uint64_t local_ns; /* when it holds: the middle of the look */
    int64_t offset_ns; /* server's minus local time, best guess */
    int64_t lowest_ns; /* the true offset is certain to be between these */
    int64_t highest_ns;
    int64_t min_rtt_ns;
    double spread_ns; /* standard deviation of the smallest round trips */
};

void rgap_filter_start(struct filter* filter, const struct filter_rule* rule);
/* Adds a sample. Returns 1 when the stop rule of Dutra 2015 (section 7.3) holds or the limit of
   messages is reached. */
int rgap_filter_add(struct filter* filter, const struct sample* sample);
/* Returns 0 if there is no sample. */
int rgap_filter_finish(const struct filter* filter, struct estimate* out);

#endif

/* How far two cores' counters are apart, by the shortest exchange through one cache line. */
#ifndef AFERIR_CLOCK_OFFSETS_H
#define AFERIR_CLOCK_OFFSETS_H

#include <stdint.h>

struct offset {
    int64_t ticks;        /* counter of the far core minus that of the near one */
    uint64_t uncertainty; /* half of the shortest round trip: a certain bound */
};

/* Offset from the shortest ways there and back, each as the difference of two cores' counters.
 *
 * With the offset taken out both shortest ways last (forward + backward) / 2, and no later way is
 * shorter than the shortest: so no hand-over between the cores can seem to go backwards, even
 * where the ways are unequal and the offset is therefore misjudged. */
struct offset rvec_offset_from_ways(int64_t forward, int64_t backward);

/* Measures with two threads pinned to the cores; an rvec_status. */
int rvec_offset_measure(uint32_t near_core, uint32_t far_core, struct offset* out);

#endif

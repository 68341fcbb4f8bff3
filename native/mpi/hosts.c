#include "hosts.h"

#include <stdlib.h>

/* Ranks write their cards at different times, which differ by less than this: the time within which
 * MPI_Init ends on all ranks. */
static const uint64_t SKEW_NS = 1000000000;

struct owned {
    uint64_t clock;
    uint32_t rank;
};

static int by_clock_and_rank(const void* a, const void* b) {
    const struct owned *x = a, *y = b;
    if (x->clock != y->clock) {
        return x->clock < y->clock ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void* a, const void* b) {
    uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
    return (x > y) - (x < y);
}

int hosts_find(const struct rank_card* cards, uint32_t ranks, uint32_t own_rank,
               struct hosts* out) {
    struct owned* sorted = calloc(ranks, sizeof(*sorted));
    out->leader = calloc(ranks, sizeof(*out->leader));
    out->count = out->own = 0;
    if (sorted == NULL || out->leader == NULL) {
        free(sorted);
        hosts_free(out);
        return 0;
    }
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        sorted[rank].clock = cards[rank].clock;
        sorted[rank].rank = rank;
    }
    qsort(sorted, ranks, sizeof(*sorted), by_clock_and_rank);
    uint32_t own_leader = 0;
    for (uint32_t i = 0; i < ranks; ++i) {
        if (i == 0 || sorted[i].clock != sorted[i - 1].clock) {
            out->leader[out->count++] = sorted[i].rank;
        }
        if (sorted[i].rank == own_rank) {
            own_leader = out->leader[out->count - 1];
        }
    }
    free(sorted);
    qsort(out->leader, out->count, sizeof(*out->leader), by_rank);
    while (out->leader[out->own] != own_leader) {
        out->own += 1;
    }
    return 1;
}

void hosts_free(struct hosts* hosts) {
    free(hosts->leader);
    hosts->leader = NULL;
}

uint64_t hosts_epoch_shift(const struct rank_card* cards, uint32_t ranks) {
    uint64_t latest = cards[0].time_ns;
    int alone = 1;
    for (uint32_t rank = 1; rank < ranks; ++rank) {
        alone = alone && cards[rank].clock == cards[0].clock;
        if (cards[rank].clock != cards[0].clock && cards[rank].time_ns > latest) {
            latest = cards[rank].time_ns;
        }
    }
    /* The cards cannot tell which of two hosts is ahead if their times are about equal. */
    for (uint32_t rank = 1; rank < ranks && !alone; ++rank) {
        if (cards[rank].clock != cards[0].clock &&
            cards[rank].time_ns + SKEW_NS > cards[0].time_ns) {
            return latest - cards[0].time_ns + SKEW_NS;
        }
    }
    return 0;
}

/* The published model of a global clock, as its readers and its server see it. */
#ifndef AFERIR_CLOCK_RGAP_PRIVATE_H
#define AFERIR_CLOCK_RGAP_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bound.h"
#include "client.h"
#include "forks.h"

/* State of a clock that readers and servers see, all of one moment. Fields are eight bytes wide:
 * a reader copies them one by one. */
struct published {
    struct model model;
    uint64_t level;    /* of this clock: 1 directly below the reference node */
    uint64_t timeline; /* identity of the reference's time */
    uint64_t revision; /* changes with the model */
};

enum { PUBLISHED_WORDS = sizeof(struct published) / 8 };

struct rgap {
    /* A latch: two copies, one of which is complete at any time, so that a reader never waits
     * for the writer, whatever their priorities (Linux, seqcount_latch_t). */
    _Atomic uint32_t sequence; /* odd: the second copy is the one to read */
    _Atomic uint64_t words[2][PUBLISHED_WORDS];
    struct rgap_source source;
    struct hmac_key key;
    struct look_order order;
    char* address;
    struct oscillators limits;
    uint64_t second_look_ns;

    pthread_mutex_t looking; /* serialises looks; acquired before `lock`, held for a whole look */
    struct fork_member forks;
    pthread_mutex_t lock; /* protects the fields below, and publishing */
    struct look first;
    struct look second;
    uint32_t looks; /* number so far; `first` and `second` are the ones in use */
    struct rgap_facts facts;

    pthread_t thread;
    int has_thread;
    int stopping;
    pthread_cond_t wake;
};

struct published rgap_published(struct rgap* clock);
/* Errors that the local clock reports of itself so far. */
struct rgap_doubt rgap_doubt_of(const struct rgap* clock);

#endif

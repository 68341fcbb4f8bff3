/* The published model of a global clock, as its readers and its server see it. */
#ifndef AFERIR_CLOCK_RGAP_PRIVATE_H
#define AFERIR_CLOCK_RGAP_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bound.h"
#include "client.h"

enum { MODEL_WORDS = sizeof(struct model) / 8 };

struct rgap {
    _Atomic uint32_t generation; /* odd while the model is being replaced */
    _Atomic uint64_t words[MODEL_WORDS];
    _Atomic uint32_t level;
    _Atomic uint64_t timeline;
    struct rgap_source source;
    struct hmac_key key;
    struct look_order order;
    char* address;
    struct oscillators limits;
    uint64_t second_look_ns;

    pthread_mutex_t lock; /* for what follows, and for looks one at a time */
    struct look first;
    struct look second;
    uint32_t looks; /* taken, of which first and second are the ones in use */
    struct rgap_facts facts;

    pthread_t thread;
    int has_thread;
    int stopping;
    pthread_cond_t wake;
};

struct model rgap_model(struct rgap* clock);
/* What a server passes on of the clock it takes its time from. */
void rgap_describe(struct rgap* clock, uint32_t* revision, uint8_t* level, uint64_t* timeline);

#endif

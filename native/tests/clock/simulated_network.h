/* Client and server on one simulated network, in simulated time: clocks with offset, rate and
 * wander, delays with a heavy tail and an asymmetry, loss, duplicates, late arrivals. */
#ifndef AFERIR_TESTS_SIMULATED_NETWORK_H
#define AFERIR_TESTS_SIMULATED_NETWORK_H

#include <math.h>
#include <string.h>

#include "check.h"
#include "exchange.h"
#include "responder.h"

/* local = start + (1 + rate) * true, and a slow swing of the rate */
struct simulated_clock {
    double start_ns;
    double rate_ppb;
    double swing_ppb;
    double swing_period_ns;
};

static inline uint64_t simulated_local(const struct simulated_clock* clock, double true_ns) {
    double drift = clock->rate_ppb * 1e-9 * true_ns;
    if (clock->swing_ppb != 0) {
        double turns = 2 * 3.14159265358979 / clock->swing_period_ns;
        drift += clock->swing_ppb * 1e-9 * (1 - cos(turns * true_ns)) / turns;
    }
    return (uint64_t)clock->start_ns + (uint64_t)(int64_t)floor(true_ns) +
           (uint64_t)(int64_t)floor(drift);
}

struct simulated_path {
    double there_ns; /* least delays of the two ways */
    double back_ns;
    double jitter_ns;
    double heavy_share; /* of datagrams that are late by a Pareto-distributed multiple */
    double loss;
    double duplicates;
};

struct simulated_datagram {
    double at_ns; /* 0: none */
    int to_server;
    uint8_t data[WIRE_SIZE];
};

enum { IN_FLIGHT = 64 };

struct network {
    double now_ns; /* true time */
    uint64_t seed;
    struct simulated_clock client, server;
    struct simulated_path path;
    struct responder* responder;
    struct peer peer;
    struct server_time served; /* what the server says of itself */
    struct simulated_datagram flying[IN_FLIGHT];
    uint64_t requests_bytes, replies_bytes;
};

static inline double network_delay(struct network* net, double least) {
    double delay = least + random_unit(&net->seed) * net->path.jitter_ns;
    if (random_unit(&net->seed) < net->path.heavy_share) {
        delay += net->path.jitter_ns * pow(random_unit(&net->seed) + 1e-6, -1.2);
    }
    return delay;
}

static inline void network_send(struct network* net, const uint8_t* data, int to_server) {
    int copies = 1 + (random_unit(&net->seed) < net->path.duplicates);
    if (random_unit(&net->seed) < net->path.loss) {
        copies -= 1;
    }
    for (int i = 0; i < IN_FLIGHT && copies > 0; ++i) {
        struct simulated_datagram* datagram = &net->flying[i];
        if (datagram->at_ns == 0) {
            double least = to_server ? net->path.there_ns : net->path.back_ns;
            datagram->at_ns = net->now_ns + network_delay(net, least);
            datagram->to_server = to_server;
            memcpy(datagram->data, data, WIRE_SIZE);
            copies -= 1;
        }
    }
}

static inline void network_serve(struct network* net, const uint8_t* data) {
    uint8_t reply[WIRE_SIZE];
    uint64_t local = simulated_local(&net->server, net->now_ns);
    net->served.t2 = local;
    net->requests_bytes += WIRE_SIZE;
    size_t length = rgap_responder_handle(net->responder, data, WIRE_SIZE, &net->peer, local,
                                          &net->served, reply);
    net->replies_bytes += length;
    if (length > 0) {
        net->now_ns += 1500; /* hashing */
        network_send(net, reply, 0);
        rgap_responder_sent(net->responder, simulated_local(&net->server, net->now_ns));
    }
}

/* The next arrival before `until`, or NULL. */
static inline struct simulated_datagram* network_next(struct network* net, double until) {
    struct simulated_datagram* next = NULL;
    for (int i = 0; i < IN_FLIGHT; ++i) {
        struct simulated_datagram* d = &net->flying[i];
        if (d->at_ns != 0 && d->at_ns <= until && (next == NULL || d->at_ns < next->at_ns)) {
            next = d;
        }
    }
    return next;
}

static inline enum exchange_event network_await(struct network* net, struct exchange* exchange,
                                                double timeout_ns) {
    double until = net->now_ns + timeout_ns;
    for (struct simulated_datagram* d; (d = network_next(net, until)) != NULL;) {
        net->now_ns = d->at_ns > net->now_ns ? d->at_ns : net->now_ns;
        d->at_ns = 0;
        if (d->to_server) {
            network_serve(net, d->data);
            continue;
        }
        struct stamp t4 = {simulated_local(&net->client, net->now_ns), 0, 1};
        enum exchange_event event = rgap_exchange_receive(exchange, d->data, WIRE_SIZE, &t4);
        if (event != EXCHANGE_IGNORED) {
            return event;
        }
    }
    net->now_ns = until;
    rgap_exchange_lost(exchange);
    return EXCHANGE_IGNORED;
}

/* Takes one look; returns 0 if there is no result within `most` requests. */
static inline int network_look(struct network* net, const struct hmac_key* key,
                               const struct filter_rule* rule, int most, struct look* look,
                               struct exchange_counts* counts) {
    static struct exchange exchange;
    rgap_exchange_start(&exchange, key, rule, random_next(&net->seed));
    enum exchange_event event = EXCHANGE_IGNORED;
    for (int i = 0; i < most && event != EXCHANGE_FINISHED; ++i) {
        uint8_t request[WIRE_SIZE];
        rgap_exchange_request(&exchange, random_next(&net->seed), request);
        net->now_ns += 1500;
        struct stamp t1 = {simulated_local(&net->client, net->now_ns), 0, 1};
        network_send(net, request, 1);
        rgap_exchange_sent(&exchange, &t1);
        event = network_await(net, &exchange, 5e6);
        if (event == EXCHANGE_OTHER_TIMELINE) {
            return 0;
        }
    }
    if (counts != NULL) {
        *counts = exchange.counts;
    }
    return rgap_exchange_finish(&exchange, look);
}

#endif

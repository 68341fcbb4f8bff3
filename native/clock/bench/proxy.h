/* A bad path for tests and benchmarks: forwards datagrams between one client and a server on
 * this host, and delays, duplicates, damages or drops them. */
#ifndef AFERIR_CLOCK_PROXY_H
#define AFERIR_CLOCK_PROXY_H

#include <stdint.h>

struct proxy_path {
    uint32_t there_ns; /* added delay towards the server */
    uint32_t back_ns;
    uint32_t jitter_ns; /* uniform, in each direction */
    double loss;
    double duplicates;
    double damage; /* share of datagrams preceded by a forged, bit-flipped or truncated copy */
};

struct proxy;

/* Starts a proxy on a free port of 127.0.0.1; NULL on failure. */
struct proxy* proxy_start(uint16_t server_port, const struct proxy_path* path, uint64_t seed);
uint16_t proxy_port(const struct proxy* proxy);
void proxy_stop(struct proxy* proxy);

#endif

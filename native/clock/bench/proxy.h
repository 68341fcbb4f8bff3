/* A bad path for tests and benchmarks: forwards datagrams between one client and a server on this
 * host, later, twice, damaged or never. */
#ifndef AFERIR_CLOCK_PROXY_H
#define AFERIR_CLOCK_PROXY_H

#include <stdint.h>

struct proxy_path {
    uint32_t there_ns; /* added on the way to the server */
    uint32_t back_ns;
    uint32_t jitter_ns; /* uniform, on each way */
    double loss;
    double duplicates;
    double damage; /* share of datagrams that a forged, bit-flipped or cut copy goes before */
};

struct proxy;

/* Listens on a free port of 127.0.0.1; NULL where that fails. */
struct proxy* proxy_start(uint16_t server_port, const struct proxy_path* path, uint64_t seed);
uint16_t proxy_port(const struct proxy* proxy);
void proxy_stop(struct proxy* proxy);

#endif

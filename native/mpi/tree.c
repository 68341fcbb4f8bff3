#include "tree.h"

/* Rounds after which `host` knows the time: it is served in round floor(log2 host). */
static uint32_t rounds_until_known(uint32_t host) {
    uint32_t rounds = 0;
    for (; host > 0; host >>= 1) {
        rounds += 1;
    }
    return rounds;
}

uint32_t tree_parent(uint32_t host) {
    return host == 0 ? 0 : host - (1U << (rounds_until_known(host) - 1));
}

uint32_t tree_child(uint32_t host, uint32_t n, uint32_t hosts) {
    uint32_t round = rounds_until_known(host) + n;
    if (round >= 32) {
        return hosts;
    }
    uint64_t child = (uint64_t)host + (1ULL << round);
    return child < hosts ? (uint32_t)child : hosts;
}

uint32_t tree_depth(uint32_t host) { return (uint32_t)__builtin_popcount(host); }

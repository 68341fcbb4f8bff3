/* The cores that this process may use, and moving a thread between them. */
#ifndef AFERIR_CLOCK_CORES_H
#define AFERIR_CLOCK_CORES_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

struct cores {
    cpu_set_t allowed;
    uint32_t count;
};

/* Call it before any thread is pinned: a pinned thread may use a single core. */
static inline struct cores cores_usable(void) {
    struct cores cores;
    CPU_ZERO(&cores.allowed);
    sched_getaffinity(0, sizeof(cores.allowed), &cores.allowed);
    cores.count = (uint32_t)CPU_COUNT(&cores.allowed);
    return cores;
}

/* Moves the calling thread to usable core number `place`, modulo their number. */
static inline int cores_move_to(const struct cores* cores, uint32_t place) {
    uint32_t left = cores->count > 0 ? place % cores->count : 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &cores->allowed) && left-- == 0) {
            CPU_SET(core, &set);
            break;
        }
    }
    return sched_setaffinity(0, sizeof(set), &set);
}

#endif

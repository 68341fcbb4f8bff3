#define _GNU_SOURCE
#include "offsets.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "aferir/rvec.h"

enum { ROUNDS = 4000, SPINS_PER_YIELD = 1024, PATIENCE_S = 1 };

struct mailbox {
    _Alignas(128) _Atomic uint32_t turn; /* odd: far core's turn, even: near core's */
    uint64_t stamp;                      /* of who has written turn last; same cache line */
    _Alignas(128) _Atomic int failed;
    time_t deadline;
};

struct player {
    struct mailbox* box;
    uint32_t core;
    uint32_t parity; /* of `turn` when it is this player's turn */
    int64_t shortest;
};

struct offset rvec_offset_from_ways(int64_t forward, int64_t backward) {
    struct offset offset = {(forward - backward) / 2, (uint64_t)(forward + backward + 1) / 2};
    return offset;
}

static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int wait_turn(struct mailbox* box, uint32_t turn) {
    for (uint32_t spin = 1; atomic_load_explicit(&box->turn, memory_order_acquire) != turn;
         ++spin) {
        if (spin % SPINS_PER_YIELD != 0) {
            continue;
        }
        if (atomic_load_explicit(&box->failed, memory_order_relaxed)) {
            return 0;
        }
        if (seconds() > box->deadline) {
            atomic_store(&box->failed, 1);
            return 0;
        }
        sched_yield(); /* another thread may be running on that core */
    }
    return 1;
}

static void* play(void* argument) {
    struct player* player = argument;
    struct mailbox* box = player->box;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(player->core, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
        atomic_store(&box->failed, 1);
        return NULL;
    }
    for (uint32_t turn = player->parity; turn < 2 * ROUNDS; turn += 2) {
        if (!wait_turn(box, turn)) {
            return NULL;
        }
        uint64_t arrival = rvec_ticks();
        if (turn > 0) {
            int64_t way = (int64_t)(arrival - box->stamp);
            player->shortest = way < player->shortest ? way : player->shortest;
        }
        box->stamp = rvec_ticks();
        atomic_store_explicit(&box->turn, turn + 1, memory_order_release);
    }
    return NULL;
}

int rvec_offset_measure(uint32_t near_core, uint32_t far_core, struct offset* out) {
    struct mailbox box = {0};
    box.deadline = seconds() + PATIENCE_S;
    struct player near_player = {&box, near_core, 0, INT64_MAX};
    struct player far_player = {&box, far_core, 1, INT64_MAX};
    pthread_t near_thread, far_thread;
    if (pthread_create(&near_thread, NULL, play, &near_player) != 0) {
        return RVEC_ERROR_SYSTEM;
    }
    if (pthread_create(&far_thread, NULL, play, &far_player) != 0) {
        atomic_store(&box.failed, 1);
        pthread_join(near_thread, NULL);
        return RVEC_ERROR_SYSTEM;
    }
    pthread_join(near_thread, NULL);
    pthread_join(far_thread, NULL);
    /* A timeout may have cut the rounds short: the shortest one-way times of those completed still
     * bound the offset. It fails only if a direction has none. */
    if (near_player.shortest == INT64_MAX || far_player.shortest == INT64_MAX) {
        return RVEC_ERROR_AFFINITY;
    }
    *out = rvec_offset_from_ways(far_player.shortest, near_player.shortest);
    return RVEC_OK;
}

#include "hca3.h"

#include <mpi.h>

#include "host_clock.h"

enum { TAG = 32700 };

/* Finds the offset as SKaMPI does. Each message on its way there gives an upper limit of the offset
 * and each message back a lower limit: takes the middle of the narrowest interval. */
static int64_t ask_offset(int reference, int ping_pongs) {
    int64_t lowest = INT64_MIN, highest = INT64_MAX;
    for (int i = 0; i < ping_pongs; ++i) {
        int64_t remote;
        int64_t before = (int64_t)host_clock_ns();
        MPI_Send(&before, 1, MPI_INT64_T, reference, TAG, MPI_COMM_WORLD);
        MPI_Recv(&remote, 1, MPI_INT64_T, reference, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int64_t after = (int64_t)host_clock_ns();
        lowest = remote - after > lowest ? remote - after : lowest;
        highest = remote - before < highest ? remote - before : highest;
    }
    return lowest + (highest - lowest) / 2;
}

static void answer(int client, int ping_pongs, int64_t offset) {
    for (int i = 0; i < ping_pongs; ++i) {
        int64_t asked;
        MPI_Recv(&asked, 1, MPI_INT64_T, client, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int64_t now = (int64_t)host_clock_ns() + offset;
        MPI_Send(&now, 1, MPI_INT64_T, client, TAG, MPI_COMM_WORLD);
    }
}

/* Largest power of two that is at most `n`. */
static int power_below(int n) {
    int power = 1;
    while (power * 2 <= n) {
        power *= 2;
    }
    return power;
}

int64_t hca3_offset_only(int rank, int ranks, int ping_pongs) {
    int all = power_below(ranks);
    int64_t offset = 0;
    /* From the root down: in each round those who know the time serve one at half the distance. */
    for (int step = all / 2; step >= 1 && rank < all; step /= 2) {
        if (rank % (2 * step) == 0) {
            answer(rank + step, ping_pongs, offset);
        } else if (rank % (2 * step) == step) {
            offset = ask_offset(rank - step, ping_pongs);
        }
    }
    /* If the number of ranks is no power of two, the ranks beyond the largest power of two are
     * served last. */
    if (rank >= all) {
        offset = ask_offset(rank - all, ping_pongs);
    } else if (rank + all < ranks) {
        answer(rank + all, ping_pongs, offset);
    }
    return offset;
}

/* Compares our synchronisation with HCA3's; the two alternate in one job. Every rank counts as a
 * host.
 *
 * Meant for hosts that are namespaces of one machine: they have the same clock, so the true offset
 * is 0 and every offset found is an error. One line of JSON for each method.
 *
 * As `aferir-mpi-bench wtime` it reports properties of MPI_Wtime instead. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hca3.h"
#include "host_clock.h"
#include "sync.h"
#include "wtime.h"

static uint64_t raw_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

struct method {
    const char* name;
    int ping_pongs; /* 0: ours */
    uint64_t* duration_ns;
    uint64_t* worst_ns; /* largest error of any rank */
    int outside;        /* rounds in which a rank's error was larger than its doubt */
};

/* Returns the offset that `method` finds. HCA3 gives no bound of its error. */
static int64_t offset_by(const struct method* method, const struct hosts* hosts,
                         uint64_t* doubt_ns) {
    *doubt_ns = UINT64_MAX;
    if (method->ping_pongs > 0) {
        return hca3_offset_only((int)hosts->own, (int)hosts->count, method->ping_pongs);
    }
    struct look_result look;
    int ok = sync_tree(hosts, 0, &look);
    *doubt_ns = look.doubt_ns;
    return ok ? look.offset_ns : INT64_MAX;
}

/* Measures the time from when the last rank is ready until the last one is done. */
static void measure(struct method* method, const struct hosts* hosts, int round) {
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start = raw_ns();
    uint64_t doubt;
    int64_t offset = offset_by(method, hosts, &doubt);
    uint64_t error = (uint64_t)llabs(offset);
    uint64_t mine[3] = {raw_ns(), error, error > doubt}, largest[3];
    MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(mine, largest, 3, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    method->duration_ns[round] = largest[0] - start;
    method->worst_ns[round] = largest[1];
    method->outside += (int)largest[2];
}

static int by_size(const void* a, const void* b) {
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

static void print(const struct method* method, int rounds, int ranks) {
    qsort(method->duration_ns, (size_t)rounds, sizeof(uint64_t), by_size);
    qsort(method->worst_ns, (size_t)rounds, sizeof(uint64_t), by_size);
    printf("{\"method\": \"%s\", \"hosts\": %d, \"n\": %d", method->name, ranks, rounds);
    const struct {
        const char* name;
        int index;
    } quantile[] = {
        {"best", 0}, {"median", rounds / 2}, {"p90", rounds * 9 / 10}, {"worst", rounds - 1}};
    for (int i = 0; i < 4; ++i) {
        printf(", \"duration_%s_us\": %.1f, \"error_%s_ns\": %llu", quantile[i].name,
               (double)method->duration_ns[quantile[i].index] / 1000, quantile[i].name,
               (unsigned long long)method->worst_ns[quantile[i].index]);
    }
    if (method->ping_pongs == 0) {
        printf(", \"outside_doubt\": %d", method->outside);
    }
    printf("}\n");
}

/* Whether to run a method: all of them, unless the command line names some. */
static int is_wanted(const struct method* method, int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], method->name) == 0) {
            return 1;
        }
    }
    return argc < 3;
}

int main(int argc, char** argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    int rank, ranks;
    host_clock_prepare();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1 && strcmp(argv[1], "wtime") == 0) {
        wtime_describe(rank, ranks);
        return MPI_Finalize();
    }
    uint32_t leaders[1024];
    if (rounds < 1 || rounds > 1000000 || ranks > 1024) {
        fprintf(stderr,
                "usage: aferir-mpi-bench wtime | [rounds, 100 [method ...]]; at most 1024 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < ranks; ++i) {
        leaders[i] = (uint32_t)i;
    }
    struct hosts hosts = {(uint32_t)ranks, (uint32_t)rank, leaders};
    struct method methods[] = {{"aferir", 0, NULL, NULL, 0},
                               {"hca3-offset-10", 10, NULL, NULL, 0},
                               {"hca3-offset-20", 20, NULL, NULL, 0},
                               {"hca3-offset-100", 100, NULL, NULL, 0}};
    enum { METHODS = sizeof(methods) / sizeof(methods[0]) };
    for (int i = 0; i < METHODS; ++i) {
        methods[i].duration_ns = calloc((size_t)rounds, sizeof(uint64_t));
        methods[i].worst_ns = calloc((size_t)rounds, sizeof(uint64_t));
    }
    for (int round = -1; round < rounds; ++round) { /* the first opens connections */
        for (int i = 0; i < METHODS; ++i) {
            if (is_wanted(&methods[i], argc, argv)) {
                measure(&methods[i], &hosts, round < 0 ? 0 : round);
            }
        }
    }
    for (int i = 0; i < METHODS; ++i) {
        if (rank == 0 && is_wanted(&methods[i], argc, argv)) {
            print(&methods[i], rounds, ranks);
        }
        free(methods[i].duration_ns);
        free(methods[i].worst_ns);
    }
    return MPI_Finalize();
}

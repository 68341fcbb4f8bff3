/* An ordinary MPI program that judges its MPI_Wtime, whoever provides it.
 *
 * program [rounds] [--hosts | --hosts-may-hang]
 *
 * --hosts: ranks may be on several hosts that share one machine's clock, so that the time jumps at
 * MPI_Init. The program then prints how far the ranks' times are apart, to be compared with the
 * doubt that the library reports; and before MPI_Finalize "verdict 0" or "verdict 1" for all other
 * properties. --hosts-may-hang: the same, and MPI_Finalize may never return. Exit code 1 and a line
 * for each broken promise. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double RATE_LIMIT = 250e-6; /* largest error of a rate, as in look.c */
static int failures, rank, ranks;

#define EXPECT(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition); \
            failures += 1;                                                                 \
        }                                                                                  \
    } while (0)

static double raw_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* MPI_Wtime minus CLOCK_MONOTONIC_RAW, from the narrowest of many brackets. */
struct offset {
    double s;
    double width; /* of its bracket: the true offset is at most half of it away */
    double at;    /* when it was, by CLOCK_MONOTONIC_RAW */
};

static struct offset offset_to_raw(void) {
    struct offset best = {0, 1, 0};
    MPI_Barrier(MPI_COMM_WORLD); /* ranks that look at the same time know it best */
    for (int i = 0; i < 2000; ++i) {
        double before = MPI_Wtime(), raw = raw_s(), after = MPI_Wtime();
        if (after - before < best.width) {
            best = (struct offset){before + (after - before) / 2 - raw, after - before, raw};
        }
    }
    return best;
}

static void* read_strictly(void* context) {
    int* broken = context;
    double last = MPI_Wtime();
    for (int i = 0; i < 200000; ++i) {
        double now = MPI_Wtime();
        *broken += !(now > last);
        last = now;
    }
    return NULL;
}

static void check_threads(void) {
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    int broken[THREADS] = {0};
    for (int i = 0; i < THREADS; ++i) {
        EXPECT(pthread_create(&thread[i], NULL, read_strictly, &broken[i]) == 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(thread[i], NULL);
        EXPECT(broken[i] == 0);
    }
}

static void check_attribute(void) {
    int *value = NULL, flag = 0, *deprecated = NULL, deprecated_flag = 0, *tag = NULL;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    EXPECT(flag && value != NULL && *value == 1);
    MPI_Attr_get(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &deprecated, &deprecated_flag);
    EXPECT(deprecated_flag && deprecated != NULL && *deprecated == 1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag, &flag);
    EXPECT(flag && tag != NULL && *tag >= 32767);
}

/* Seconds from sending to receiving a message, by MPI_Wtime of its two ranks: the smallest over all
 * messages and ranks. */
static double check_order(int rounds) {
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    double worst = 1, sent = 0;
    for (int i = 0; i < rounds && ranks > 1; ++i) {
        if (rank == 0) {
            sent = MPI_Wtime();
            MPI_Send(&sent, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
        }
        MPI_Recv(&sent, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double received = MPI_Wtime();
        worst = received - sent < worst ? received - sent : worst;
        if (rank != 0) {
            sent = MPI_Wtime();
            MPI_Send(&sent, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return worst;
}

/* Largest difference in seconds between the offsets of two ranks. `known` is how large it may be if
 * their times are the same: on a busy machine brackets are wide, and ranks look at different times,
 * between which the time may gain on the kernel's clock as much as oscillators differ. */
static double check_agreement(double* known) {
    struct offset own = offset_to_raw();
    double most[] = {own.s, -own.s, own.width, own.at, -own.at};
    MPI_Allreduce(MPI_IN_PLACE, most, 5, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *known = most[2] + RATE_LIMIT * (most[3] + most[4]);
    return most[0] + most[1];
}

/* Ends without MPI_Finalize, which in MPICH before 4.2 often never returns on several hosts: see
 * kernels/common/mpi_finalize.hpp. */
static void end_without_finalize(int number) {
    (void)number;
    _exit(0);
}

int main(int argc, char** argv) {
    int may_hang = argc > 2 && strcmp(argv[2], "--hosts-may-hang") == 0;
    int several = may_hang || (argc > 2 && strcmp(argv[2], "--hosts") == 0), sum = 0, provided;
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    double raw_before = raw_s(), earlier = MPI_Wtime(), raw_after = raw_s();
    EXPECT(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-8);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    double start_raw = raw_s(), start = MPI_Wtime(), soon_raw = raw_s();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT(start > earlier);
    double allowed = 1e-3 + RATE_LIMIT * (soon_raw - raw_before);
    EXPECT(several || (start - earlier > start_raw - raw_after - allowed &&
                       start - earlier < soon_raw - raw_before + allowed));
    EXPECT(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-8);
    check_attribute();
    double known, spread = check_agreement(&known), order = check_order(rounds);
    double passed = raw_s() - start_raw;
    MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("spread_ns %.0f known_ns %.0f order_ns %.0f passed_ns %.0f\n", spread * 1e9,
               known * 1e9, order * 1e9, passed * 1e9);
    }
    EXPECT(several || (spread <= known && order > 0));
    check_threads();
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == ranks * (ranks - 1) / 2);
    double end_raw = raw_s(), end = MPI_Wtime();
    if (several) {
        printf("verdict %d\n", failures != 0);
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD); /* the launcher may end all ranks once one has ended */
    }
    if (may_hang) {
        signal(SIGALRM, end_without_finalize);
        alarm(20);
    }
    MPI_Finalize();
    double late = MPI_Wtime();
    EXPECT(late > end);
    EXPECT(late - end < (raw_s() - end_raw) * (1 + RATE_LIMIT) + 1);
    return failures != 0;
}

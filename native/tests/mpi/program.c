/* An ordinary MPI program that judges its MPI_Wtime; knows nothing of who provides it.
 *
 *   program [rounds] [--hosts]
 *
 * --hosts: ranks may be on several hosts that share one machine's clock, so that the time jumps at
 * MPI_Init and is compared within a wider bound; "verdict 0" or "verdict 1" before MPI_Finalize.
 * Exit code 1 and a line for each broken promise. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
static double offset_to_raw(double* width) {
    double best = 0;
    *width = 1;
    for (int i = 0; i < 20000; ++i) {
        double before = MPI_Wtime(), raw = raw_s(), after = MPI_Wtime();
        if (after - before < *width) {
            *width = after - before;
            best = before + (after - before) / 2 - raw;
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

/* A message that was sent is received later, in the time of whoever looks. */
static void check_order(int rounds, double slack) {
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
    EXPECT(worst > -slack);
}

static void check_agreement(double allowed) {
    double width, offset = offset_to_raw(&width), extremes[2] = {offset, -offset};
    MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double spread = extremes[0] + extremes[1];
    if (rank == 0) {
        printf("spread_ns %.1f bracket_ns %.1f\n", spread * 1e9, width * 1e9);
    }
    EXPECT(spread < allowed + width);
}

/* MPICH 4.0.2 over UCX sometimes never returns from MPI_Finalize where two ranks share one of
 * several hosts: one rank waits for answers of others, which wait for it without reading messages.
 */
static void end_without_finalize(int number) {
    (void)number;
    _exit(0);
}

int main(int argc, char** argv) {
    int several = argc > 2 && strcmp(argv[2], "--hosts") == 0, sum = 0, provided;
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    double earlier = MPI_Wtime(), earlier_raw = raw_s();
    EXPECT(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-8);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    double start = MPI_Wtime(), start_raw = raw_s();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT(start > earlier);
    double wrong = (start - earlier) - (start_raw - earlier_raw);
    EXPECT(several || (wrong < 1e-3 && wrong > -1e-3));
    EXPECT(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-8);
    check_attribute();
    check_order(rounds, several ? 1e-6 : 0);
    check_agreement(several ? 1e-5 : 30e-9);
    check_threads();
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == ranks * (ranks - 1) / 2);
    double end = MPI_Wtime();
    if (several) {
        printf("verdict %d\n", failures != 0);
        fflush(stdout);
        signal(SIGALRM, end_without_finalize);
        alarm(20);
    }
    MPI_Finalize();
    EXPECT(MPI_Wtime() > end);
    EXPECT(MPI_Wtime() < end + 60);
    return failures != 0;
}

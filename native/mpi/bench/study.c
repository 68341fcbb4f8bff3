/* Properties of MPI_Wtime as a program sees it: how long MPI_Init takes, how far the clocks of the
 * ranks are apart, and whether time-stamped messages are in order (Dutra 2015, sections 7.3 and
 * 7.4).
 *
 * aferir-mpi-clock [stamps, 100000]
 *
 * It does not depend on who provides MPI_Wtime. For ranks of one host: they share
 * CLOCK_MONOTONIC_RAW, so the difference of their clocks is known. One line of JSON. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/leave_job.h"
#include "patience.h"

enum { TAG_ASK = 1, TAG_ANSWER = 2, BRACKETS = 2000 };

static int rank, ranks;

static double raw_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* MPI_Wtime minus CLOCK_MONOTONIC_RAW, from the narrowest of many brackets. */
static double offset_to_raw(double* width) {
    double best = 0;
    *width = 1;
    for (int i = 0; i < BRACKETS; ++i) {
        double before = raw_s(), time = MPI_Wtime(), after = raw_s();
        if (after - before < *width) {
            *width = after - before;
            best = time - (before + (after - before) / 2);
        }
    }
    return best;
}

struct order {
    int messages;
    int stamps;         /* in all of them together */
    int violations;     /* stamps that are not between what was before and what was after */
    int broken;         /* messages that are not what was sent */
    double best_trip_s; /* of a message and its answer */
};

/* Sends a question and receives an answer full of time stamps. All of these must lie between the
 * times at which the question was sent and the answer received, and each after the one before. */
static void question(struct order* order, int to, double* batch, int size, int number) {
    double asked[2] = {number, MPI_Wtime()};
    MPI_Send(asked, 2, MPI_DOUBLE, to, TAG_ASK, MPI_COMM_WORLD);
    order->broken += !patience_receive(batch, (size + 1) * (int)sizeof(double), to, TAG_ANSWER,
                                       PATIENCE_LISTENING);
    double received = MPI_Wtime(), last = asked[1];
    order->broken += batch[0] != number;
    for (int i = 1; i <= size; ++i) {
        order->violations += !(batch[i] > last);
        last = batch[i];
    }
    order->violations += !(received > last);
    order->stamps += size;
    if (received - asked[1] < order->best_trip_s) {
        order->best_trip_s = received - asked[1];
    }
}

static void answer(double* batch, int size) {
    double asked[2];
    if (!patience_receive(asked, (int)sizeof(asked), 0, TAG_ASK, PATIENCE_BUSY)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    batch[0] = asked[0];
    for (int i = 1; i <= size; ++i) {
        batch[i] = MPI_Wtime();
    }
    MPI_Send(batch, size + 1, MPI_DOUBLE, 0, TAG_ANSWER, MPI_COMM_WORLD);
}

static void exchange(struct order* order, int stamps) {
    int size = stamps / order->messages + (stamps % order->messages != 0);
    double* batch = calloc((size_t)size + 1, sizeof(double));
    if (batch == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 3);
        return;
    }
    for (int i = 0; i < order->messages && ranks > 1; ++i) {
        int other = 1 + i % (ranks - 1);
        if (rank == 0) {
            question(order, other, batch, size, i);
        } else if (rank == other) {
            answer(batch, size);
        }
    }
    free(batch);
}

static void print_list(const char* name, const double* values) {
    printf(", \"%s\": [", name);
    for (int i = 0; i < ranks; ++i) {
        printf("%s%.10g", i > 0 ? ", " : "", values[i]);
    }
    printf("]");
}

static void print(int global, double init_s, double bracket_s, const double* offsets_s,
                  const struct order* orders, int count) {
    int broken = 0;
    printf("{\"program\": \"aferir-mpi-clock\", \"processes\": %d, \"global\": %s", ranks,
           global ? "true" : "false");
    printf(", \"init_s\": %.9f, \"bracket_s\": %.3g", init_s, bracket_s);
    print_list("offsets_s", offsets_s);
    printf(", \"orders\": [");
    for (int i = 0; i < count; ++i) {
        printf("%s{\"messages\": %d, \"stamps\": %d, \"violations\": %d, \"best_trip_s\": %.3g}",
               i > 0 ? ", " : "", orders[i].messages, orders[i].stamps, orders[i].violations,
               orders[i].best_trip_s);
        broken += orders[i].broken;
    }
    printf("], \"verified\": %s%s}\n", broken == 0 ? "true" : "false",
           broken == 0 ? "" : ", \"error\": \"messages were lost or changed\"");
}

static int is_global(void) {
    int *value = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, (void*)&value, &flag);
    return flag && *value != 0;
}

int main(int argc, char** argv) {
    int stamps = argc > 1 ? atoi(argv[1]) : 100000;
    double start = raw_s();
    MPI_Init(&argc, &argv);
    double init_s = raw_s() - start, width, offset;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double* offsets = calloc((size_t)ranks, sizeof(double));
    if (offsets == NULL || stamps < 1 || stamps > 10000000) {
        fprintf(stderr, "usage: aferir-mpi-clock [stamps, 1 to 10000000]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    offset = offset_to_raw(&width);
    double largest[2] = {init_s, width};
    MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double reference = offset;
    MPI_Bcast(&reference, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    offset -= reference;
    MPI_Gather(&offset, 1, MPI_DOUBLE, offsets, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    struct order orders[] = {{481, 0, 0, 0, 1e9}, {30, 0, 0, 0, 1e9}};
    enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };
    for (int i = 0; i < ORDERS; ++i) {
        exchange(&orders[i], stamps);
    }
    if (rank == 0) {
        print(is_global(), largest[0], largest[1], offsets, orders, ORDERS);
    }
    free(offsets);
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
    /* MPI_Finalize may hang: see kernels/common/mpi_finalize.hpp */
    MPI_Barrier(MPI_COMM_WORLD);
    leave_job(0);
#endif
    return MPI_Finalize();
}

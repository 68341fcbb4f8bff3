#define _GNU_SOURCE
#include "sync.h"

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_clock.h"
#include "patience.h"
#include "tree.h"

/* Tags of our messages, on MPI_COMM_WORLD itself, as making a communicator takes longer than the
 * whole synchronisation. They cannot be confused with the program's, which has not yet returned
 * from MPI_Init: messages between two ranks do not overtake one another (MPI 3.1, section 3.5), and
 * each side knows how many there will be. The standard guarantees tags up to 32767 (section 8.1.2).
 * */
enum { TAG_ASK = 32761, TAG_ANSWER = 32762, TAG_RESULT = 32763 };

/* After QUESTION_MORE others may follow; QUESTION_LAST is the last that wants an answer;
 * QUESTION_DONE wants none. */
enum { QUESTION_MORE, QUESTION_LAST, QUESTION_DONE };

/* A question has the size of an answer, so that both directions take the same time. */
struct question {
    uint64_t kind;
    uint64_t unused;
};
_Static_assert(sizeof(struct question) == sizeof(struct answer), "both ways alike");

static uint64_t local_ns(void* context) {
    (void)context;
    return host_clock_ns();
}

struct way {
    int parent;
    int asked; /* the parent has answered once, so it is listening */
    struct patience patience;
};

static int ask(void* context, int last, struct answer* answer) {
    struct way* way = context;
    struct question question = {last ? QUESTION_LAST : QUESTION_MORE, 0};
    enum patience_kind kind = way->asked ? PATIENCE_LISTENING : PATIENCE_BUSY;
    uint64_t start = host_clock_ns();
    way->asked = 1;
    if (PMPI_Send(&question, (int)sizeof(question), MPI_BYTE, way->parent, TAG_ASK,
                  MPI_COMM_WORLD) != MPI_SUCCESS ||
        !patience_receive(answer, (int)sizeof(*answer), way->parent, TAG_ANSWER, kind)) {
        return 0;
    }
    patience_step_aside(&way->patience, answer->core, host_clock_ns() - start);
    return 1;
}

static int look(int parent, int is_first, struct look_result* out) {
    struct way way;
    way.parent = parent;
    way.asked = is_first;
    patience_begin(&way.patience);
    struct asker asker = {&way, local_ns, ask};
    int ok = look_at(&asker, out);
    if (out->exchanges < look_most_exchanges()) {
        struct question question = {QUESTION_DONE, 0};
        ok = PMPI_Send(&question, (int)sizeof(question), MPI_BYTE, parent, TAG_ASK,
                       MPI_COMM_WORLD) == MPI_SUCCESS &&
             ok;
    }
    patience_end(&way.patience);
    return ok;
}

static uint32_t doubt_in_answer(uint64_t ns) { return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX; }

static int answer_all(int child, const struct look_result* own) {
    struct answer answer = {0, doubt_in_answer(own->doubt_ns), 0};
    struct question question = {QUESTION_MORE, 0};
    while (question.kind == QUESTION_MORE) {
        if (!patience_receive(&question, (int)sizeof(question), child, TAG_ASK,
                              PATIENCE_LISTENING)) {
            return 0;
        }
        answer.core = (uint32_t)sched_getcpu();
        answer.time_ns = host_clock_ns() + (uint64_t)own->offset_ns;
        if (question.kind != QUESTION_DONE &&
            PMPI_Send(&answer, (int)sizeof(answer), MPI_BYTE, child, TAG_ANSWER, MPI_COMM_WORLD) !=
                MPI_SUCCESS) {
            return 0;
        }
    }
    return 1;
}

static int serve(int child, const struct look_result* own) {
    struct patience patience;
    patience_begin(&patience);
    int ok = answer_all(child, own);
    patience_end(&patience);
    return ok;
}

int sync_tree(const struct hosts* hosts, uint64_t shift_ns, struct look_result* out) {
    memset(out, 0, sizeof(*out));
    out->offset_ns = (int64_t)shift_ns;
    out->local_ns = host_clock_ns();
    int ok =
        hosts->own == 0 || look((int)hosts->leader[tree_parent(hosts->own)], hosts->own == 1, out);
    for (uint32_t n = 0;; ++n) {
        uint32_t child = tree_child(hosts->own, n, hosts->count);
        if (child == hosts->count) {
            return ok;
        }
        ok = serve((int)hosts->leader[child], out) && ok;
    }
}

/* All leaders pause for the same time, so that none waits long for another. Other ranks sleep
 * until they receive the result. */
static int sync_twice(const struct hosts* hosts, uint64_t shift_ns, uint64_t pause_ms,
                      struct look_result* out) {
    int ok = sync_tree(hosts, shift_ns, out);
    if (pause_ms == 0) {
        return ok;
    }
    struct look_result first = *out;
    struct timespec pause = {(time_t)(pause_ms / 1000), (long)(pause_ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
    ok = sync_tree(hosts, shift_ns, out) && ok;
    if (ok) {
        look_rate(&first, out);
    }
    return ok;
}

/* The other ranks of the host have the same clock, so they only have to be told. */
static int tell_host(const struct rank_card* cards, int ranks, struct sync_result* result) {
    int ok = 1;
    for (int rank = (int)result->rank + 1; rank < ranks; ++rank) {
        if (cards[rank].clock == cards[result->rank].clock) {
            ok = PMPI_Send(&result->look, (int)sizeof(result->look), MPI_BYTE, rank, TAG_RESULT,
                           MPI_COMM_WORLD) == MPI_SUCCESS &&
                 ok;
        }
    }
    return ok;
}

static int hear_leader(int leader, struct sync_result* result) {
    return patience_receive(&result->look, (int)sizeof(result->look), leader, TAG_RESULT,
                            PATIENCE_BUSY);
}

static int sync_hosts(const struct rank_card* cards, int ranks, struct sync_result* result) {
    struct hosts hosts;
    if (!hosts_find(cards, (uint32_t)ranks, result->rank, &hosts)) {
        return 0;
    }
    uint32_t leader = hosts.leader[hosts.own];
    result->hosts = hosts.count;
    result->host = hosts.own;
    result->leads = leader == result->rank;
    result->epoch_shift_ns = hosts_epoch_shift(cards, (uint32_t)ranks);
    uint64_t start = host_clock_ns();
    int ok;
    if (result->leads) {
        ok = sync_twice(&hosts, result->epoch_shift_ns, cards[0].rate_ms, &result->look);
        result->duration_ns = host_clock_ns() - start;
        ok = tell_host(cards, ranks, result) && ok;
    } else {
        ok = hear_leader((int)leader, result);
    }
    hosts_free(&hosts);
    return ok;
}

#if defined(OPEN_MPI)
/* With either of these settings, Open MPI lets a rank leave MPI_Init before another has entered it.
 * */
extern bool ompi_async_mpi_init __attribute__((weak));
extern bool opal_pmix_base_async_modex __attribute__((weak));
static int init_waits_for_all(void) {
    return !(&ompi_async_mpi_init != NULL && ompi_async_mpi_init) &&
           !(&opal_pmix_base_async_modex != NULL && opal_pmix_base_async_modex);
}
#else
static int init_waits_for_all(void) { return 1; }
#endif

void sync_world(const struct sync_wish* wish, struct sync_result* out) {
    int ranks, rank;
    memset(out, 0, sizeof(*out));
    if (PMPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS ||
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) {
        return;
    }
    out->rank = (uint32_t)rank;
    out->hosts = 1;
    out->leads = rank == 0;
    /* Every rank joins its page before MPI_Init, which no rank leaves before all have entered. So
     * if the number of ranks attached to this page is that of all ranks, every rank sees that, and
     * no message is needed. */
    if (init_waits_for_all() && host_clock_attached() == (uint32_t)ranks) {
        out->report = wish->report;
        out->ok = 1;
        return;
    }
    struct rank_card card = {host_clock_identity(), host_clock_ns(), (uint64_t)wish->report,
                             wish->rate_ms};
    struct rank_card* cards = calloc((size_t)ranks, sizeof(*cards));
    if (cards == NULL) {
        PMPI_Abort(MPI_COMM_WORLD, 1); /* the others would wait for this rank for ever */
        return;
    }
    if (PMPI_Allgather(&card, (int)sizeof(card), MPI_BYTE, cards, (int)sizeof(card), MPI_BYTE,
                       MPI_COMM_WORLD) == MPI_SUCCESS) {
        out->report = (int)cards[0].report;
        out->ok = sync_hosts(cards, ranks, out);
    }
    free(cards);
}

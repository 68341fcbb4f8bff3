/* Tests whether a clock is strictly increasing and precise (ECP), after Dutra 2015, 7.2.1: runs
 * of a loop of small matrix blocks with one reading each; pinned, with forced migrations, on a core
 * that is taken off line and back, and handed over between threads on different cores, where a
 * reading must be later than the one that caused it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arms.h"
#include "bench.h"
#include "plug.h"
#include "spread.h"
#include "study.h"

enum { BLOCK = 15, BLOCKS_PER_MIGRATION = 500, LOOKS_PER_YIELD = 200 };

struct matrix {
    double sum[BLOCK];
    double term[BLOCK];
};

/* 15 additions, the thesis's block. */
static inline void add_block(struct matrix* matrix) {
    for (int i = 0; i < BLOCK; ++i) {
        matrix->sum[i] += matrix->term[i];
    }
    __asm__ volatile("" ::"r"(matrix) : "memory"); /* the sums are wanted now */
}

/* Results in units of the clock, except `block`, which is in seconds. */
struct tally {
    uint64_t reads;
    uint64_t violations;
    int64_t smallest;
    struct spread block;
};

static inline void note_step(struct tally* tally, uint64_t last, uint64_t now) {
    int64_t step = (int64_t)(now - last);
    tally->violations += step <= 0;
    tally->smallest = step < tally->smallest ? step : tally->smallest;
    tally->reads += 1;
}

struct runner {
    struct arm* arm;
    struct matrix* matrix;
    const struct cores* cores;
    uint32_t blocks;
    uint32_t moves; /* to other cores so far; stays 0 if pinned */
    enum movement movement;
    uint64_t last; /* of the run before */
    int failed;    /* the core could not be taken off line or back */
};

/* Moves through four stages in turn: to the last core; that core is taken off line, so that the
 * kernel moves this thread; onto that core again, which is back; to the first core. */
static void move_plugged(struct runner* runner) {
    size_t last = plug_last_core(runner->cores);
    switch (++runner->moves % 4) {
        case 1:
            cores_move_to(runner->cores, runner->cores->count - 1);
            break;
        case 2:
            runner->failed |= !plug_set(last, 0);
            break;
        case 3:
            runner->failed |= !plug_set(last, 1);
            cores_move_to(runner->cores, runner->cores->count - 1);
            break;
        default:
            cores_move_to(runner->cores, 0);
    }
}

static void move(struct runner* runner) {
    if (runner->movement == MOVEMENT_MIGRATED) {
        cores_move_to(runner->cores, ++runner->moves);
    } else if (runner->movement == MOVEMENT_PLUGGED) {
        move_plugged(runner);
    }
}

/* One run; returns the time spent in blocks, by the clock itself. The time between the last
 * reading on one core and the first on the next is that of a system call, and not part of a
 * block. */
#define LOOP(id, name, ticks, expression)                                             \
    static double loop_##id(struct runner* runner, struct tally* tally) {             \
        struct arm* arm = runner->arm;                                                \
        uint64_t last = runner->last, spent = 0, reads = 0;                           \
        for (uint32_t done = 0; done < runner->blocks;) {                             \
            move(runner);                                                             \
            uint64_t first = (expression);                                            \
            if (last != 0) {                                                          \
                note_step(tally, last, first);                                        \
            }                                                                         \
            last = first;                                                             \
            for (int i = 0; i < BLOCKS_PER_MIGRATION && done < runner->blocks; ++i) { \
                add_block(runner->matrix);                                            \
                uint64_t now = (expression);                                          \
                note_step(tally, last, now);                                          \
                last = now;                                                           \
                ++done;                                                               \
                ++reads;                                                              \
            }                                                                         \
            spent += last - first;                                                    \
        }                                                                             \
        (void)arm;                                                                    \
        runner->last = last;                                                          \
        return (double)(int64_t)spent / (double)reads;                                \
    }

STUDY_CLOCKS(LOOP)

/* State that the two sides share. Only the side whose turn it is may access `last`. */
struct relay {
    uint64_t turns;
    uint32_t turns_per_run;
    const struct cores* cores;
    struct rvec* rvec;
    uint64_t last;
    _Alignas(128) _Atomic uint64_t turn;
};

struct side {
    struct relay* relay;
    void (*take_turns)(struct side* side, struct arm* arm);
    uint32_t number;
    double unit_s;
    uint64_t run_started;
    struct tally tally;
    struct matrix matrix;
};

static inline int is_turn(struct relay* relay, uint64_t turn, uint32_t* looks) {
    if (++*looks % LOOKS_PER_YIELD == 0) {
        sched_yield();
    }
    return atomic_load_explicit(&relay->turn, memory_order_acquire) == turn;
}

/* Called after the other side has got its turn, so as not to delay it. The first side measures the
 * runs. */
static void note_turn(struct side* side, uint64_t turn, uint64_t before, uint64_t now) {
    if (turn > 0) {
        note_step(&side->tally, before, now);
    }
    if (side->number == 0 && turn % side->relay->turns_per_run == 0) {
        if (turn > 0) {
            double units = (double)(int64_t)(now - side->run_started);
            spread_add(&side->tally.block, units / side->relay->turns_per_run * side->unit_s);
        }
        side->run_started = now;
    }
    add_block(&side->matrix);
}

/* Acts like a program that polls for messages and stamps each one: the clock is read directly after
 * the poll that found the turn, and directly before the hand-over. A reading that the processor
 * executes before the poll is then detected as too early. */
#define TURNS(id, name, ticks, expression)                                       \
    static void turns_##id(struct side* side, struct arm* arm) {                 \
        struct relay* relay = side->relay;                                       \
        uint32_t looks = 0;                                                      \
        for (uint64_t turn = side->number; turn < relay->turns; turn += 2) {     \
            int found;                                                           \
            uint64_t now;                                                        \
            do {                                                                 \
                found = is_turn(relay, turn, &looks);                            \
                now = (expression);                                              \
            } while (!found);                                                    \
            uint64_t before = relay->last;                                       \
            relay->last = now;                                                   \
            atomic_store_explicit(&relay->turn, turn + 1, memory_order_release); \
            note_turn(side, turn, before, now);                                  \
        }                                                                        \
        (void)arm;                                                               \
    }

STUDY_CLOCKS(TURNS)

struct ways {
    double (*loop)(struct runner* runner, struct tally* tally);
    void (*turns)(struct side* side, struct arm* arm);
};

#define WAYS(id, name, ticks, expression) {loop_##id, turns_##id},
static const struct ways WAYS_OF[ARMS] = {STUDY_CLOCKS(WAYS)};

static void* run_side(void* argument) {
    struct side* side = argument;
    struct arm arm;
    cores_move_to(side->relay->cores, side->number);
    arm_open(&arm, side->relay->rvec);
    side->take_turns(side, &arm);
    return NULL;
}

/* Time since a thread began, and the time that it has used, cannot be compared between threads. */
static int is_of_one_thread(int place) { return place == ARM_rvec_thread || place == ARM_cpu_time; }

static double unit_of(struct study* study, int place) {
    struct rvec_facts facts;
    rvec_info(study->rvec, &facts);
    return ARM_IN_TICKS[place] ? 1 / facts.frequency_hz : 1e-9;
}

static void join_sides(const struct side* sides, struct tally* tally, struct matrix* matrix) {
    *tally = sides[0].tally;
    tally->reads += sides[1].tally.reads;
    tally->violations += sides[1].tally.violations;
    if (sides[1].tally.smallest < tally->smallest) {
        tally->smallest = sides[1].tally.smallest;
    }
    for (int i = 0; i < BLOCK; ++i) {
        matrix->sum[i] += sides[0].matrix.sum[i] + sides[1].matrix.sum[i];
    }
}

/* Runs the hand-overs of one clock; each turn adds one block to `matrix`. */
static int hand_over(struct study* study, int place, struct tally* tally, struct matrix* matrix) {
    uint32_t blocks = (study->options->blocks + 1) / 2 * 2; /* runs begin with the first side */
    struct relay relay = {.turns = (uint64_t)study->options->runs * blocks + 1,
                          .turns_per_run = blocks,
                          .cores = &study->cores,
                          .rvec = study->rvec};
    struct side sides[2];
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; ++i) {
        sides[i] = (struct side){&relay, WAYS_OF[place].turns,    i,         unit_of(study, place),
                                 0,      {.smallest = INT64_MAX}, {{0}, {0}}};
        memcpy(sides[i].matrix.term, matrix->term, sizeof(matrix->term));
    }
    if (pthread_create(&threads[0], NULL, run_side, &sides[0]) != 0) {
        return 0;
    }
    if (pthread_create(&threads[1], NULL, run_side, &sides[1]) != 0) {
        abort(); /* the first would wait for ever */
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    join_sides(sides, tally, matrix);
    return 1;
}

/* Runs the clocks one after another in each round, so that all see the same disturbances. */
static int run_loops(struct study* study, const int* places, int count, struct tally* tallies,
                     struct matrix* matrix) {
    struct arm arm;
    uint64_t last[ARMS] = {0};
    uint32_t moves = 0;
    int failed = 0;
    if (!arm_open(&arm, study->rvec)) {
        return 0;
    }
    cores_move_to(&study->cores, 0);
    for (uint32_t run = 0; run < study->options->runs; ++run) {
        for (int i = 0; i < count; ++i) {
            struct runner runner = {&arm,          matrix,
                                    &study->cores, study->options->blocks,
                                    moves,         study->options->movement,
                                    last[i],       0};
            double units = WAYS_OF[places[i]].loop(&runner, &tallies[i]);
            spread_add(&tallies[i].block, units * unit_of(study, places[i]));
            last[i] = runner.last;
            moves = runner.moves;
            failed = failed || runner.failed;
        }
    }
    if (study->options->movement == MOVEMENT_PLUGGED) {
        plug_set(plug_last_core(&study->cores), 1);
        uint32_t times = (moves + 2) / 4;
        output_sample(study->output, "times_off_line", times, "1");
    }
    return !failed;
}

static void report(struct study* study, const int* places, int count, const struct tally* tallies) {
    const char* names[ARMS];
    double violations[ARMS], smallest[ARMS], block[ARMS], half[ARMS], ours = 0;
    for (int i = 0; i < count; ++i) {
        int place = places[i];
        const struct tally* tally = &tallies[i];
        names[i] = ARM_NAMES[place];
        violations[i] = (double)tally->violations;
        smallest[i] = (double)tally->smallest * unit_of(study, place);
        block[i] = tally->block.mean;
        half[i] = spread_half_width_999(&tally->block);
        if (place == ARM_rvec_thread || place == ARM_rvec_process || place == ARM_rvec_core) {
            ours += violations[i];
        }
    }
    struct output* output = study->output;
    size_t n = (size_t)count;
    output_sample(output, "reads_of_each_clock", (double)tallies[0].reads, "1");
    output_sample(output, "violations_of_rvec", ours, "1");
    output_named(output, "violations", "1", "", "clock", names, violations, n);
    output_named(output, "smallest_step_s", "s", "", "clock", names, smallest, n);
    output_named(output, "block_s", "s", "", "clock", names, block, n);
    if (study->options->runs >= 10) {
        output_named(output, "block_half_width_s", "s", "99.9 % interval", "clock", names, half, n);
    }
}

static int sums_are_right(const struct matrix* matrix, double blocks) {
    for (int i = 0; i < BLOCK; ++i) {
        if (matrix->sum[i] != blocks * matrix->term[i]) {
            return 0;
        }
    }
    return 1;
}

int study_ecp(struct study* study) {
    const struct study_options* options = study->options;
    int handed = options->movement == MOVEMENT_HANDED_OVER, here[ARMS], places[ARMS], count = 0;
    if (options->movement != MOVEMENT_PINNED && study->cores.count < 2) {
        study->error = "there is one core to run on, and moving between cores takes two";
        return STUDY_IMPOSSIBLE;
    }
    for (int i = 0, found = arms_here(here); i < found; ++i) {
        if (!(handed && is_of_one_thread(here[i]))) {
            places[count++] = here[i];
        }
    }
    struct tally tallies[ARMS] = {0};
    struct matrix matrix = {{0}, {0}};
    for (int i = 0; i < BLOCK; ++i) {
        matrix.term[i] = i + 1;
    }
    int ran = 1;
    for (int i = 0; i < count; ++i) {
        tallies[i].smallest = INT64_MAX;
        ran = ran && (!handed || hand_over(study, places[i], &tallies[i], &matrix));
    }
    if (!ran || (!handed && !run_loops(study, places, count, tallies, &matrix))) {
        study->error = options->movement == MOVEMENT_PLUGGED
                           ? "the last core could not be taken off line and back, which takes root"
                           : "no thread could be started";
        return STUDY_IMPOSSIBLE;
    }
    uint32_t blocks = handed ? (options->blocks + 1) / 2 * 2 : options->blocks;
    double all = (double)options->runs * blocks + (handed ? 1 : 0);
    if (!sums_are_right(&matrix, all * count)) {
        study->error = "the sums of the matrix blocks are wrong";
        return STUDY_UNVERIFIED;
    }
    report(study, places, count, tallies);
    return STUDY_OK;
}

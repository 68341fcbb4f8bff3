#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "hosts.h"
#include "study.h"

static const char USAGE[] =
    "usage: clock-study ecp|cost|stability|ntp|order|noise|rule|rate [options]\n"
    "       clock-study rule-server|rule-client: both ends of `rule`, on hosts of their own\n"
    "Studies this machine's clocks and prints one line of JSON (docs/guides/clock-studies.md).\n"
    "  --runs N              ecp: runs of each clock (100); cost: rounds (200); rule: looks (20);\n"
    "                        rate: changes (4)\n"
    "  --blocks N            ecp: matrix blocks of a run, with one reading each (5000)\n"
    "  --movement WORD       ecp: pinned, migrated, handed-over or plugged (pinned)\n"
    "  --seconds S           stability, order: time to follow the clocks for (10, 3);\n"
    "                        rule: longest look (10)\n"
    "  --interval-s S        ntp, order: between queries (0, 0.1); stability: between looks "
    "(0.01);\n"
    "                        rate: between changes (8)\n"
    "  --ratio R             rate: of the counter's second rate to its first (0.5)\n"
    "  --rate-ppm P          ntp, order, rule: of the client's clock (17, 30, 30)\n"
    "  --offset-s S          order, rule: of the client's clock (0.001)\n"
    "  --discard N           rule: first exchanges that are not counted (5)\n"
    "  --deviation-s S       rule: of the 20 smallest round trips, to end at (5e-7)\n"
    "  --stamps WORD         rule: taken by kernel or program (kernel)\n"
    "  --clients N           rule: of the server, at once, 1 or 2 (1)\n"
    "  --address A           rule-server: to serve at; rule-client: of the server (127.0.0.1)\n"
    "  --port N              rule-client: that the server has printed\n"
    "  --queries N           ntp: of the server, 2 or more; the first is not counted (20)\n"
    "  --messages N          order: sent in pairs (2000)\n"
    "  --correction WORD     ntp, order: step, or slew at 500 ppm (step)\n"
    "  --server WORD         ntp: chronyd, or own (chronyd)\n"
    "  --quanta N            noise: pieces of work, at least 100 (5000)\n"
    "  --quantum-s S         noise: length of one (0.001)\n"
    "  --priority WORD       noise: normal or realtime (normal)\n"
    "  --noise-period-s S    noise: plant work on the same core each S seconds (none)\n"
    "  --noise-busy-s S      noise: length of planted work (0.0005)\n";

#define HOUR 3600.0
#define MONTH (31 * 24 * HOUR)

enum value { NUMBER, WHOLE, WORD, TEXT };

/* An option, the field that it sets, and its permitted values. */
struct rule {
    const char* name;
    size_t field;
    enum value value; /* a double, an uint32_t, the place of a word as an int, or any text */
    double least;
    double most;
    const char* words[4];
};

#define SETS(field) offsetof(struct study_options, field)
static const struct rule RULES[] = {
    {"runs", SETS(runs), WHOLE, 1, 1e6, {0}},
    {"blocks", SETS(blocks), WHOLE, 1, 1e8, {0}},
    {"movement", SETS(movement), WORD, 0, 0, {"pinned", "migrated", "handed-over", "plugged"}},
    {"seconds", SETS(seconds), NUMBER, 0.1, MONTH, {0}},
    {"interval-s", SETS(interval_s), NUMBER, 0, 24 * HOUR, {0}},
    {"rate-ppm", SETS(rate_ppm), NUMBER, -1000, 1000, {0}},
    {"offset-s", SETS(offset_s), NUMBER, -HOUR, HOUR, {0}},
    {"ratio", SETS(ratio), NUMBER, 0.1, 10, {0}},
    {"discard", SETS(discard), WHOLE, 0, 1000, {0}},
    {"deviation-s", SETS(deviation_s), NUMBER, 1e-9, 1, {0}},
    {"clients", SETS(clients), WHOLE, 1, HOSTS_MOST_CLIENTS, {0}},
    {"stamps", SETS(user_stamps), WORD, 0, 0, {"kernel", "program"}},
    {"queries", SETS(queries), WHOLE, 2, 1e6, {0}},
    {"messages", SETS(messages), WHOLE, 10, 1e7, {0}},
    {"correction", SETS(slew), WORD, 0, 0, {"step", "slew"}},
    {"server", SETS(own_server), WORD, 0, 0, {"chronyd", "own"}},
    {"quanta", SETS(quanta), WHOLE, 100, 1e8, {0}},
    {"quantum-s", SETS(quantum_s), NUMBER, 1e-5, 1, {0}},
    {"noise-period-s", SETS(noise_period_s), NUMBER, 0, HOUR, {0}},
    {"priority", SETS(realtime), WORD, 0, 0, {"normal", "realtime"}},
    {"noise-busy-s", SETS(noise_busy_s), NUMBER, 0, HOUR, {0}},
    {"address", SETS(address), TEXT, 0, 0, {0}},
    {"port", SETS(port), WHOLE, 1, 65534, {0}},
};
enum { COUNT = sizeof(RULES) / sizeof(*RULES), HELP = COUNT };

struct kind {
    const char* name;
    int (*run)(struct study* study);
    struct study_options defaults;
};

static const struct kind KINDS[] = {
    {"ecp", study_ecp, {.runs = 100, .blocks = 5000}},
    {"cost", study_cost, {.runs = 200}},
    {"stability", study_stability, {.seconds = 10, .interval_s = 0.01}},
    {"ntp", study_ntp, {.queries = 20, .rate_ppm = 17}},
    {"order",
     study_order,
     {.messages = 2000, .seconds = 3, .interval_s = 0.1, .rate_ppm = 30, .offset_s = 0.001}},
    {"rule",
     study_rule,
     {.runs = 20,
      .seconds = 10,
      .rate_ppm = 30,
      .offset_s = 0.001,
      .discard = 5,
      .deviation_s = 500e-9,
      .clients = 1}},
    {"rule-server", study_rule_server, {.address = "127.0.0.1"}},
    {"rule-client",
     study_rule_client,
     {.runs = 20,
      .seconds = 10,
      .messages = 2000,
      .discard = 5,
      .deviation_s = 500e-9,
      .address = "127.0.0.1"}},
    {"rate", study_rate, {.runs = 4, .interval_s = 8, .ratio = 0.5}},
    {"noise", study_noise, {.quanta = 5000, .quantum_s = 0.001, .noise_busy_s = 0.0005}},
};

static void refuse(const char* what) {
    fprintf(stderr, "clock-study: not possible: %s\n%s", what, USAGE);
    exit(2);
}

static double number(const char* text, const struct rule* rule) {
    char* end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= rule->least && value <= rule->most) ||
        (rule->value == WHOLE && value != floor(value))) {
        refuse(text);
    }
    return value;
}

static int place_of(const char* text, const struct rule* rule) {
    for (int i = 0; i < 4 && rule->words[i] != NULL; ++i) {
        if (strcmp(text, rule->words[i]) == 0) {
            return i;
        }
    }
    refuse(text);
    return 0;
}

static void set(struct study_options* options, const struct rule* rule, const char* text) {
    char* field = (char*)options + rule->field;
    if (rule->value == TEXT) {
        memcpy(field, (const void*)&text, sizeof(text));
        return;
    }
    if (rule->value == WORD) {
        int place = place_of(text, rule);
        memcpy(field, &place, sizeof(place));
        return;
    }
    double value = number(text, rule);
    uint32_t whole = (uint32_t)value;
    memcpy(field, rule->value == WHOLE ? (void*)&whole : (void*)&value,
           rule->value == WHOLE ? sizeof(whole) : sizeof(value));
}

static void parse(int argc, char** argv, struct study_options* options) {
    struct option known[COUNT + 2] = {0};
    for (int i = 0; i < COUNT; ++i) {
        known[i] = (struct option){RULES[i].name, required_argument, NULL, i};
    }
    known[HELP] = (struct option){"help", no_argument, NULL, HELP};
    for (int key; (key = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (key < 0 || key >= COUNT) {
            fputs(USAGE, key == HELP ? stdout : stderr);
            exit(key == HELP ? 0 : 2);
        }
        set(options, &RULES[key], optarg);
    }
    if (options->noise_period_s > 0 && options->noise_busy_s >= options->noise_period_s) {
        refuse("work that is planted must be shorter than its period");
    }
}

static const struct kind* kind_of(const char* name) {
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(*KINDS); ++i) {
        if (strcmp(name, KINDS[i].name) == 0) {
            return &KINDS[i];
        }
    }
    refuse(name);
    return NULL;
}

static struct rvec* open_clock(const struct kind* kind) {
    struct rvec_options options = {0};
    options.calibration_ns = 100000000;
    /* In the study of stability the rate is kept: refining it meanwhile would show in the
     * differences. */
    options.keep_rate = kind->run == study_stability;
    struct rvec* rvec;
    int status = rvec_open(&rvec, &options);
    if (status != RVEC_OK) {
        fprintf(stderr, "clock-study: %s\n", rvec_strerror(status));
        exit(1);
    }
    return rvec;
}

int main(int argc, char** argv) {
    struct study_options options = {0};
    const struct kind* kind = argc > 1 && argv[1][0] != '-' ? kind_of(argv[1]) : NULL;
    if (kind != NULL) {
        options = kind->defaults;
    }
    parse(argc, argv, &options);
    if (kind == NULL || optind + 1 != argc) {
        refuse("name one study, and first");
    }
    if (kind->run == study_stability && options.interval_s <= 0) {
        refuse("looks without an interval");
    }
    if (kind->run == study_rate && (options.interval_s <= 0 || fabs(options.ratio - 1) < 0.05)) {
        refuse("changes without an interval, or by less than 5 %");
    }
    struct study study = {open_clock(kind), cores_usable(), &options, output_begin(), 0, NULL};
    if (study.output == NULL) {
        refuse("there is not memory enough");
    }
    uint64_t start = bench_raw_ns();
    int status = kind->run(&study);
    double took_s = (double)(bench_raw_ns() - start) * 1e-9;
    double duration_s = study.duration_s > 0 ? study.duration_s : took_s;
    rvec_close(study.rvec);
    if (status == STUDY_OK) {
        return output_end(study.output, kind->name, duration_s) ? 0 : 1;
    }
    if (status == STUDY_UNVERIFIED) {
        output_unverified(kind->name, study.error);
    } else {
        fprintf(stderr, "clock-study %s: %s%s%s\n", kind->name, study.error, errno ? ": " : "",
                errno ? strerror(errno) : "");
    }
    return 1;
}

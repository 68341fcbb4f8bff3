/* Tests whether time-stamped messages are sorted in the order in which they were sent, after
 * Dutra 2015, 7.3: two hosts send messages to each other, each after a loop of 5,000 additions.
 * The client's clock has an injected offset and rate; each message is stamped, at one reading,
 * by that clock as it is, as corrected by NTP, and as corrected by RGAP. The server's clock is
 * the reference. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "disciplined.h"
#include "drift.h"
#include "hosts.h"
#include "sntp.h"
#include "study.h"

enum { BY_RGAP, BY_NTP, BY_NOTHING, CLOCKS };
enum {
    PORT = 7003,
    ADDITIONS = 5000,
    PATIENCE_MS = 5000,
    MOST_SHOWN = 200,
    QUANTILES = 39,
    LAST_PERCENT = 95
};
static const char* const NAMES[CLOCKS] = {"RGAP", "NTP-like", "not synchronised"};
static const uint8_t KEY[] = "clock-study: a key for this run alone";
/* NTP counts from 1900, so its server needs a plausible date: the reference clock starts here. */
static const uint64_t EPOCH_NS = 1500000000ULL * 1000000000U;

struct stamps {
    uint64_t by[CLOCKS];
};

struct message {
    uint32_t number;
    uint32_t more; /* 0 if this is the last message */
    struct stamps sent;
};

/* One message: the stamps that each clock gave it when it was sent and received, and the true time
 * of sending. */
struct seen {
    uint64_t sent_ns; /* true time */
    struct stamps sent;
    struct stamps received;
    int by_client;
};

struct stage {
    struct study* study;
    struct hosts hosts;
    struct drifting_clock local; /* the client's */
    struct disciplined ntp;
    struct rgap* rgap;
    uint16_t rgap_port;
    int server_socket;
    int client_socket;
    int ntp_socket;
    uint32_t queries;
    struct seen* seen;
    uint32_t count; /* of messages that arrived */
};

static uint64_t reference_now(void* context) { return EPOCH_NS + rvec_process_now(context); }

static struct stamps client_stamps(struct stage* stage, uint64_t local_ns) {
    struct stamps stamps = {{0}};
    uint64_t bound;
    rgap_at(stage->rgap, local_ns, &stamps.by[BY_RGAP], &bound);
    stamps.by[BY_NTP] = disciplined_at(&stage->ntp, local_ns);
    stamps.by[BY_NOTHING] = local_ns;
    return stamps;
}

static struct stamps server_stamps(uint64_t now_ns) {
    struct stamps stamps = {{now_ns, now_ns, now_ns}};
    return stamps;
}

static void add_up(void) {
    uint64_t sum = 0;
    for (int i = 0; i < ADDITIONS; ++i) {
        __asm__ volatile("" : "+r"(sum));
        sum += 3;
    }
}

/* The server's part: receives each message of the client, and sends one back. */
static void* answer(void* argument) {
    struct stage* stage = argument;
    struct message message = {.more = 1};
    struct pollfd ready = {stage->server_socket, POLLIN, 0};
    while (message.more != 0 && poll(&ready, 1, PATIENCE_MS) > 0) {
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        ssize_t got = recvfrom(stage->server_socket, &message, sizeof(message), 0,
                               (struct sockaddr*)&from, &size);
        uint64_t now = reference_now(stage->study->rvec);
        if (got != (ssize_t)sizeof(message)) {
            break;
        }
        stage->seen[message.number].received = server_stamps(now);
        add_up();
        message.number += 1;
        struct seen* seen = &stage->seen[message.number];
        seen->sent_ns = reference_now(stage->study->rvec);
        seen->sent = message.sent = server_stamps(seen->sent_ns);
        sendto(stage->server_socket, &message, sizeof(message), 0, (struct sockaddr*)&from, size);
    }
    return NULL;
}

/* The client's part of one exchange, two messages. Returns 0 if the server is lost. */
static int exchange(struct stage* stage, uint32_t number, uint32_t more) {
    struct message message = {.number = number, .more = more};
    struct pollfd ready = {stage->client_socket, POLLIN, 0};
    add_up();
    struct seen* seen = &stage->seen[number];
    seen->by_client = 1;
    uint64_t now = rvec_process_now(stage->study->rvec);
    seen->sent_ns = EPOCH_NS + now;
    seen->sent = message.sent = client_stamps(stage, drifting_at(&stage->local, now));
    if (send(stage->client_socket, &message, sizeof(message), 0) != (ssize_t)sizeof(message) ||
        poll(&ready, 1, PATIENCE_MS) <= 0 ||
        recv(stage->client_socket, &message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
        return 0;
    }
    stage->seen[message.number].received = client_stamps(stage, drifting_now(&stage->local));
    stage->count = message.number + 1;
    return 1;
}

static uint64_t ntp_now(void* context) {
    struct stage* stage = context;
    return disciplined_at(&stage->ntp, drifting_now(&stage->local));
}

static void correct_by_ntp(struct stage* stage) {
    struct rgap_source clock = {stage, ntp_now, NULL};
    struct ntp_exchange found;
    if (sntp_ask(stage->ntp_socket, clock, &found)) {
        disciplined_correct(&stage->ntp, drifting_now(&stage->local), found.offset_ns);
        stage->queries += 1;
    }
}

/* Exchanges all messages, spread over the time of the study, with NTP's queries in between. */
static int converse(struct stage* stage) {
    const struct study_options* options = stage->study->options;
    uint32_t pairs = options->messages / 2;
    double start = (double)bench_raw_ns() * 1e-9, queried = start;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        double now = (double)bench_raw_ns() * 1e-9;
        double due = start + options->seconds * pair / pairs;
        if (due > now) {
            struct timespec pause = {(time_t)(due - now), (long)(fmod(due - now, 1) * 1e9)};
            nanosleep(&pause, NULL);
        }
        if (now - queried >= options->interval_s) {
            correct_by_ntp(stage);
            queried = now;
        }
        if (!exchange(stage, 2 * pair, pairs - 1 - pair)) {
            return 0;
        }
    }
    return 1;
}

static int open_server_socket(uint16_t port) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, HOSTS_SERVER_ADDRESS, &own.sin_addr);
    int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file >= 0 && bind(file, (struct sockaddr*)&own, sizeof(own)) != 0) {
        close(file);
        return -1;
    }
    return file;
}

static int open_client_socket(uint16_t port) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, HOSTS_SERVER_ADDRESS, &server.sin_addr);
    int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file >= 0 && connect(file, (struct sockaddr*)&server, sizeof(server)) != 0) {
        close(file);
        return -1;
    }
    return file;
}

/* Both looks of RGAP, a second apart; the NTP-like clock is corrected three times meanwhile.
 * After a look, RGAP's clock slews to its new time, which needs a moment. */
static int synchronise(struct stage* stage) {
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = HOSTS_SERVER_ADDRESS;
    config.port = stage->rgap_port;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = drifting_source(&stage->local);
    if (rgap_create(&stage->rgap, &config) != RGAP_OK) {
        return 0;
    }
    const struct timespec third = {0, 350000000};
    for (int i = 0; i < 3; ++i) {
        correct_by_ntp(stage);
        nanosleep(&third, NULL);
    }
    int looked = rgap_poll(stage->rgap) == RGAP_OK;
    nanosleep(&third, NULL);
    correct_by_ntp(stage);
    return looked && stage->queries > 0;
}

/* Reports one clock, leaving out the longest ways, during which a host was busy with something
 * else. */
static void report_clock(struct output* output, const struct stage* stage, int clock,
                         double* memory) {
    uint32_t count = stage->count, shown = 0, each = count / MOST_SHOWN + 1;
    double at[MOST_SHOWN], error[MOST_SHOWN], part[QUANTILES], quantile[QUANTILES];
    for (uint32_t i = 0; i < count; ++i) {
        const struct seen* seen = &stage->seen[i];
        memory[i] = (double)(int64_t)(seen->received.by[clock] - seen->sent.by[clock]) * 1e-9;
        if (seen->by_client && i >= shown * each && shown < MOST_SHOWN) {
            at[shown] = stage->study->options->seconds * i / count; /* when it was due */
            error[shown++] = (double)(int64_t)(seen->sent.by[clock] - seen->sent_ns) * 1e-9;
        }
    }
    for (int i = 0; i < QUANTILES; ++i) {
        part[i] = LAST_PERCENT / 100.0 * i / (QUANTILES - 1);
        quantile[i] = bench_quantile(memory, count, part[i]);
    }
    output_curve(output, "one_way_s", "s", NAMES[clock], "quantile", "", part, quantile, QUANTILES);
    output_curve(output, "error_s", "s", NAMES[clock], "time_s", "s", at, error, shown);
}

static void report(struct stage* stage) {
    double early[CLOCKS] = {0};
    double* memory = malloc(sizeof(double) * stage->count);
    if (memory == NULL) {
        return;
    }
    for (uint32_t i = 0; i < stage->count; ++i) {
        const struct seen* seen = &stage->seen[i];
        for (int clock = 0; clock < CLOCKS; ++clock) {
            early[clock] += seen->received.by[clock] <= seen->sent.by[clock];
        }
    }
    struct output* output = stage->study->output;
    output_sample(output, "messages", stage->count, "1");
    output_sample(output, "ntp_queries", stage->queries, "1");
    output_sample(output, "received_before_sent_by_rgap", early[BY_RGAP], "1");
    output_sample(output, "received_before_sent_by_ntp", early[BY_NTP], "1");
    output_sample(output, "received_before_sent_not_synchronised", early[BY_NOTHING], "1");
    output_named(output, "received_before_sent", "1", "", "clock", NAMES, early, CLOCKS);
    /* The clock that is not synchronised is left out: its milliseconds would hide the others'
     * microseconds. */
    report_clock(output, stage, BY_RGAP, memory);
    report_clock(output, stage, BY_NTP, memory);
    free(memory);
}

static struct rgap_server* start_rgap_server(struct stage* stage) {
    struct rgap_server_config config;
    struct rgap_server_facts facts;
    struct rgap_server* server;
    rgap_server_config_init(&config);
    config.address = HOSTS_SERVER_ADDRESS;
    config.port = 0;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = (struct rgap_source){stage->study->rvec, reference_now, NULL};
    if (rgap_server_start(&server, &config) != RGAP_OK) {
        return NULL;
    }
    rgap_server_info(server, &facts);
    stage->rgap_port = facts.port;
    return server;
}

/* Runs the whole study, with all servers running, from the client's host. */
static int act(struct stage* stage) {
    pthread_t thread;
    int entered = hosts_enter(stage->hosts.clients[0]) == 0;
    stage->client_socket = entered ? open_client_socket(PORT) : -1;
    stage->ntp_socket = entered ? sntp_connect(HOSTS_SERVER_ADDRESS) : -1;
    int status = STUDY_IMPOSSIBLE;
    stage->study->error = "the two hosts cannot reach each other";
    if (stage->client_socket >= 0 && stage->ntp_socket >= 0 && synchronise(stage) &&
        pthread_create(&thread, NULL, answer, stage) == 0) {
        status = converse(stage) ? STUDY_OK : STUDY_IMPOSSIBLE;
        pthread_join(thread, NULL);
    }
    rgap_destroy(stage->rgap);
    close(stage->client_socket);
    close(stage->ntp_socket);
    return status;
}

static int serve_and_act(struct stage* stage) {
    struct rgap_source reference = {stage->study->rvec, reference_now, NULL};
    struct sntp_server* ntp = sntp_server_start(HOSTS_SERVER_ADDRESS, reference);
    struct rgap_server* rgap = start_rgap_server(stage);
    int status = STUDY_IMPOSSIBLE;
    stage->server_socket = open_server_socket(PORT);
    stage->study->error = "a server of the study could not be started";
    if (ntp != NULL && rgap != NULL && stage->server_socket >= 0) {
        status = act(stage);
    }
    if (status == STUDY_OK) {
        report(stage);
    }
    close(stage->server_socket);
    rgap_server_stop(rgap);
    sntp_server_stop(ntp);
    return status;
}

int study_order(struct study* study) {
    const struct study_options* options = study->options;
    struct stage stage = {.study = study, .ntp = {.slews = options->slew}};
    const char* refused = hosts_open(&stage.hosts, 1);
    if (refused != NULL) {
        study->error = refused;
        return STUDY_IMPOSSIBLE;
    }
    stage.local.rvec = study->rvec;
    stage.local.rate_ppm = options->rate_ppm;
    stage.local.offset_ns = EPOCH_NS + (uint64_t)(int64_t)(options->offset_s * 1e9);
    stage.seen = calloc((size_t)options->messages + 2, sizeof(*stage.seen));
    int status = STUDY_IMPOSSIBLE;
    if (stage.seen != NULL) {
        status = serve_and_act(&stage);
    } else {
        study->error = "there is not memory enough";
    }
    free(stage.seen);
    hosts_close(&stage.hosts);
    return status;
}

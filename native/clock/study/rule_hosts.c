/* The study `rule` on hosts that are machines: a server on one, and a client on each other (Dutra
 * 2015, 7.3, Figure 7.12). Their clocks' true difference is unknown. What is known: how many
 * messages a look takes, its shortest round trip, the bound of its error, and whether messages that
 * are stamped with global time were received after they were sent. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aferir/rgap.h"
#include "spread.h"
#include "study.h"

enum { PATIENCE_MS = 1000 };
static const uint8_t KEY[] = "clock-study: a key for this run alone";

struct message {
    uint64_t number;
    uint64_t received_ns; /* by the server */
};

static uint64_t reference_now(void* context) { return rvec_process_now(context); }

/* A socket at the next port after that of librgap's server: bound there, or connected to it. */
static int next_port(const char* address, uint16_t port, int serves) {
    struct sockaddr_storage place = {0};
    socklen_t length = sizeof(struct sockaddr_in);
    struct sockaddr_in* four = (struct sockaddr_in*)&place;
    struct sockaddr_in6* six = (struct sockaddr_in6*)&place;
    four->sin_family = AF_INET;
    if (inet_pton(AF_INET, address, &four->sin_addr) != 1) {
        six->sin6_family = AF_INET6;
        length = sizeof(*six);
        if (inet_pton(AF_INET6, address, &six->sin6_addr) != 1) {
            return -1;
        }
    }
    four->sin_port = htons((uint16_t)(port + 1)); /* at the same place in both */
    int made = socket(place.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made >= 0 && (serves ? bind : connect)(made, (struct sockaddr*)&place, length) != 0) {
        close(made);
        return -1;
    }
    return made;
}

struct rgap_server* study_rule_start_server(struct study* study, uint16_t* port) {
    struct rgap_server_config config;
    struct rgap_server_facts facts;
    struct rgap_server* server;
    rgap_server_config_init(&config);
    config.address = study->options->address;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = (struct rgap_source){study->rvec, reference_now, NULL};
    config.user_stamps = study->options->user_stamps;
    if (rgap_server_start(&server, &config) != RGAP_OK) {
        return NULL;
    }
    rgap_server_info(server, &facts);
    *port = facts.port;
    return server;
}

/* Prints its port, and serves until its parent ends it, or ends. */
int study_rule_server(struct study* study) {
    uint16_t port = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct rgap_server* server = study_rule_start_server(study, &port);
    int messages = server != NULL ? next_port(study->options->address, port, 1) : -1;
    study->error = "the server could not be started";
    if (messages < 0) {
        rgap_server_stop(server);
        return STUDY_IMPOSSIBLE;
    }
    printf("%u\n", port);
    fflush(stdout);
    while (1) {
        struct message message;
        struct sockaddr_storage from;
        socklen_t length = sizeof(from);
        if (recvfrom(messages, &message, sizeof(message), 0, (struct sockaddr*)&from, &length) ==
            (ssize_t)sizeof(message)) {
            message.received_ns = rvec_process_now(study->rvec);
            sendto(messages, &message, sizeof(message), 0, (struct sockaddr*)&from, length);
        }
    }
}

struct seen {
    double* exchanges; /* of each look that was answered */
    double* round_trip_s;
    uint32_t looks;
    uint32_t unanswered;
    uint32_t at_limit;
    struct spread bound_s;
    struct spread took_s;
    double most_bound_s;
    uint32_t messages;
    uint32_t out_of_order;
};

/* Sends a message and receives it with the server's stamp, which has to be between both readings of
 * the global clock. Lost ones are left out. */
static void stamp(struct seen* seen, struct rgap* clock, int server, uint64_t number) {
    struct message message = {number, 0};
    struct pollfd ready = {server, POLLIN, 0};
    uint64_t sent_ns, back_ns, bound_ns;
    rgap_now(clock, &sent_ns, &bound_ns);
    if (send(server, &message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
        return;
    }
    do {
        if (poll(&ready, 1, PATIENCE_MS) <= 0 ||
            recv(server, &message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
            return;
        }
    } while (message.number != number);
    rgap_now(clock, &back_ns, &bound_ns);
    seen->messages += 1;
    seen->out_of_order += !(sent_ns < message.received_ns && message.received_ns < back_ns);
}

static void look(struct study* study, const struct rgap_config* config, int server,
                 struct seen* seen) {
    struct rgap* clock;
    struct rgap_facts facts;
    if (rgap_create(&clock, config) != RGAP_OK) {
        seen->unanswered += 1;
        return;
    }
    rgap_info(clock, &facts);
    seen->exchanges[seen->looks] = facts.exchanges;
    seen->round_trip_s[seen->looks] = (double)facts.min_rtt_ns * 1e-9;
    seen->looks += 1;
    seen->at_limit += facts.spread_ns >= (double)config->spread_ns;
    seen->most_bound_s = fmax(seen->most_bound_s, (double)facts.half_width_ns * 1e-9);
    spread_add(&seen->bound_s, (double)facts.half_width_ns * 1e-9);
    spread_add(&seen->took_s, (double)facts.duration_ns * 1e-9);
    uint32_t share = study->options->messages / study->options->runs;
    for (uint32_t i = 0; i < share; ++i) {
        stamp(seen, clock, server, ((uint64_t)seen->looks << 32) + i);
    }
    rgap_destroy(clock);
}

static void report(struct study* study, const struct seen* seen) {
    double *number = calloc(seen->looks, sizeof(double)), most = 0, least_s = INFINITY;
    struct spread exchanges = {0};
    for (uint32_t i = 0; number != NULL && i < seen->looks; ++i) {
        number[i] = i + 1;
        spread_add(&exchanges, seen->exchanges[i]);
        most = fmax(most, seen->exchanges[i]);
        least_s = fmin(least_s, seen->round_trip_s[i]);
    }
    study->duration_s = seen->took_s.mean;
    struct output* output = study->output;
    output_sample(output, "exchanges", exchanges.mean, "1");
    output_sample(output, "exchanges_most", most, "1");
    output_sample(output, "looks_at_limit", seen->at_limit, "1");
    output_sample(output, "looks_unanswered", seen->unanswered, "1");
    output_sample(output, "round_trip_least_s", least_s, "s");
    output_sample(output, "error_bound_mean_s", seen->bound_s.mean, "s");
    output_sample(output, "error_bound_largest_s", seen->most_bound_s, "s");
    output_sample(output, "messages", seen->messages, "1");
    output_sample(output, "messages_out_of_order", seen->out_of_order, "1");
    if (number != NULL) {
        output_curve(output, "look_exchanges", "1", "", "look", "", number, seen->exchanges,
                     seen->looks);
        output_curve(output, "look_round_trip_s", "s", "", "look", "", number, seen->round_trip_s,
                     seen->looks);
    }
    free(number);
}

int study_rule_client(struct study* study) {
    const struct study_options* options = study->options;
    struct seen seen = {.exchanges = calloc((size_t)options->runs * 2, sizeof(double))};
    seen.round_trip_s = seen.exchanges + options->runs;
    int server = next_port(options->address, (uint16_t)options->port, 0);
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = options->address;
    config.port = (uint16_t)options->port;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = rgap_source_rvec(study->rvec);
    config.discard = options->discard;
    config.user_stamps = options->user_stamps;
    config.deadline_ns = (uint64_t)llround(options->seconds * 1e9);
    config.spread_ns = (uint64_t)llround(options->deviation_s * 1e9);
    for (uint32_t i = 0; seen.exchanges != NULL && server >= 0 && i < options->runs; ++i) {
        look(study, &config, server, &seen);
    }
    study->error = "the server answered no look of a client";
    int status = seen.looks > 0 ? STUDY_OK : STUDY_IMPOSSIBLE;
    if (status == STUDY_OK) {
        report(study, &seen);
    }
    if (server >= 0) {
        close(server);
    }
    free(seen.exchanges);
    return status;
}

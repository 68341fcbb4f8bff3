/* When RGAP may stop exchanging messages, and the effect of a server's other clients, after Dutra
 * 2015, 7.3: the first D exchanges are not counted, and a look ends when the standard deviation of
 * the 20 smallest round trips is below K (Figure 7.14); one server has up to two clients, each on a
 * host of its own, and serves them in order of arrival (Figure 7.12).
 *
 * All clocks are made from one counter, so the error of each look is known: the client's global
 * time minus the server's, at one reading taken right after the look. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "aferir/rgap.h"
#include "drift.h"
#include "hosts.h"
#include "spread.h"
#include "study.h"

static const uint8_t KEY[] = "clock-study: a key for this run alone";
static const char* const LABELS[HOSTS_MOST_CLIENTS] = {"client 1", "client 2"};

struct client {
    struct study* study;
    int host;
    struct drifting_clock local;
    struct rgap_config config;
    double* error_s; /* of each look that was answered, in order; `count` of them */
    double* exchanges;
    uint32_t count;
    uint32_t unanswered;
    uint32_t outside;  /* looks whose error was larger than the bound that librgap gave */
    uint32_t at_limit; /* looks ended by a limit of messages or of time, not by the rule */
    struct spread took_s;
};

static void look(struct client* client) {
    struct rgap* clock;
    if (rgap_create(&clock, &client->config) != RGAP_OK) {
        client->unanswered += 1;
        return;
    }
    struct rgap_facts facts;
    uint64_t now = rvec_process_now(client->study->rvec), global, bound;
    rgap_at(clock, drifting_at(&client->local, now), &global, &bound);
    rgap_info(clock, &facts);
    client->outside += fabs((double)(int64_t)(global - now)) > (double)bound;
    client->error_s[client->count] = (double)(int64_t)(global - now) * 1e-9;
    client->exchanges[client->count] = facts.exchanges;
    client->count += 1;
    client->at_limit += facts.spread_ns >= (double)client->config.spread_ns;
    spread_add(&client->took_s, (double)facts.duration_ns * 1e-9);
    rgap_destroy(clock);
}

static void* look_often(void* argument) {
    struct client* client = argument;
    uint32_t runs = client->study->options->runs;
    if (hosts_enter(client->host) != 0) {
        client->unanswered = runs;
        return NULL;
    }
    for (uint32_t i = 0; i < runs; ++i) {
        look(client);
    }
    return NULL;
}

static int prepare(struct client* client, struct study* study, const struct hosts* hosts,
                   uint32_t number, uint16_t port) {
    const struct study_options* options = study->options;
    client->study = study;
    client->host = hosts->clients[number];
    client->local = (struct drifting_clock){study->rvec, options->rate_ppm,
                                            (uint64_t)(int64_t)(options->offset_s * 1e9)};
    rgap_config_init(&client->config);
    client->config.address = HOSTS_SERVER[number];
    client->config.port = port;
    client->config.key = KEY;
    client->config.key_length = sizeof(KEY);
    client->config.source = drifting_source(&client->local);
    client->config.discard = options->discard;
    client->config.user_stamps = options->user_stamps;
    client->config.deadline_ns = (uint64_t)llround(options->seconds * 1e9);
    client->config.spread_ns = (uint64_t)llround(options->deviation_s * 1e9);
    client->error_s = calloc((size_t)options->runs * 2, sizeof(double));
    client->exchanges = client->error_s + options->runs;
    return client->error_s != NULL;
}

/* All clients look at once, each in a thread on its own host. */
static int look_all(struct client* clients, uint32_t count) {
    pthread_t threads[HOSTS_MOST_CLIENTS];
    uint32_t started = 0;
    while (started < count &&
           pthread_create(&threads[started], NULL, look_often, &clients[started]) == 0) {
        ++started;
    }
    for (uint32_t i = 0; i < started; ++i) {
        pthread_join(threads[i], NULL);
    }
    return started == count;
}

static void report(struct study* study, const struct client* clients) {
    struct spread error_s = {0}, exchanges = {0};
    double largest_s = 0, most = 0, took_s = 0;
    uint32_t at_limit = 0, unanswered = 0, outside = 0, count = study->options->clients;
    for (uint32_t i = 0; i < count; ++i) {
        const struct client* client = &clients[i];
        for (uint32_t k = 0; k < client->count; ++k) {
            spread_add(&error_s, fabs(client->error_s[k]));
            spread_add(&exchanges, client->exchanges[k]);
            largest_s = fmax(largest_s, fabs(client->error_s[k]));
            most = fmax(most, client->exchanges[k]);
        }
        at_limit += client->at_limit;
        unanswered += client->unanswered;
        outside += client->outside;
        took_s += client->took_s.mean / count;
    }
    study->duration_s = took_s;
    struct output* output = study->output;
    output_sample(output, "error_mean_s", error_s.mean, "s");
    output_sample(output, "error_largest_s", largest_s, "s");
    output_sample(output, "exchanges", exchanges.mean, "1");
    output_sample(output, "exchanges_most", most, "1");
    output_sample(output, "looks_at_limit", at_limit, "1");
    output_sample(output, "looks_outside_bound", outside, "1");
    output_sample(output, "looks_unanswered", unanswered, "1");
}

static void draw(struct output* output, const struct client* client, const char* label) {
    double* number = calloc(client->count, sizeof(double));
    for (uint32_t k = 0; number != NULL && k < client->count; ++k) {
        number[k] = k + 1;
    }
    if (number != NULL) {
        output_curve(output, "look_error_s", "s", label, "look", "", number, client->error_s,
                     client->count);
        output_curve(output, "look_exchanges", "1", label, "look", "", number, client->exchanges,
                     client->count);
    }
    free(number);
}

static int look_and_report(struct study* study, const struct hosts* hosts, uint16_t port) {
    struct client clients[HOSTS_MOST_CLIENTS] = {0};
    uint32_t count = study->options->clients, ready = 0;
    while (ready < count && prepare(&clients[ready], study, hosts, ready, port)) {
        ++ready;
    }
    int status = STUDY_IMPOSSIBLE;
    study->error = "there is not memory enough";
    if (ready == count) {
        study->error = "a client could not be started";
        status = look_all(clients, count) ? STUDY_OK : STUDY_IMPOSSIBLE;
    }
    for (uint32_t i = 0; status == STUDY_OK && i < count; ++i) {
        if (clients[i].count == 0) {
            study->error = "the server answered no look of a client";
            status = STUDY_IMPOSSIBLE;
        }
    }
    if (status == STUDY_OK) {
        report(study, clients);
        for (uint32_t i = 0; i < count; ++i) {
            draw(study->output, &clients[i], LABELS[i]);
        }
    }
    for (uint32_t i = 0; i < ready; ++i) {
        free(clients[i].error_s);
    }
    return status;
}

int study_rule(struct study* study) {
    struct hosts hosts;
    const char* refused = hosts_open(&hosts, study->options->clients);
    if (refused != NULL) {
        study->error = refused;
        hosts_close(&hosts);
        return STUDY_IMPOSSIBLE;
    }
    uint16_t port = 0;
    /* On the server's host, where this thread is after hosts_open(). */
    struct rgap_server* server = study_rule_start_server(study, &port);
    study->error = "the server could not be started";
    int status = server != NULL ? look_and_report(study, &hosts, port) : STUDY_IMPOSSIBLE;
    rgap_server_stop(server);
    hosts_close(&hosts);
    return status;
}

/* The corrections that an NTP client applies, query by query, after Dutra 2015, appendix A. The
 * client runs on a virtual clock of an injected rate; the server has this machine's system time,
 * which nobody touches. Both read one oscillator, so the truth is known. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "disciplined.h"
#include "drift.h"
#include "hosts.h"
#include "sntp.h"
#include "spread.h"
#include "study.h"

enum { ATTEMPTS = 50, ATTEMPT_PAUSE_NS = 50000000 };

struct client {
    struct drifting_clock local;
    struct disciplined clock;
};

static uint64_t client_now(void* context) {
    struct client* client = context;
    return disciplined_at(&client->clock, drifting_now(&client->local));
}

static uint64_t system_now(void* context) {
    (void)context;
    return clocks_system_ns(CLOCK_REALTIME);
}

struct query {
    double correction_s;
    double error_s; /* of the client's clock just before, against the system's time */
    double delay_s;
};

static double error_now(struct client* client) {
    uint64_t before = system_now(NULL), ours = client_now(client), after = system_now(NULL);
    return (double)(int64_t)(ours - before - (after - before) / 2) * 1e-9;
}

static int ask_once(struct client* client, int socket, struct query* query) {
    struct rgap_source clock = {client, client_now, NULL};
    struct ntp_exchange exchange;
    query->error_s = error_now(client);
    if (!sntp_ask(socket, clock, &exchange)) {
        return 0;
    }
    disciplined_correct(&client->clock, drifting_now(&client->local), exchange.offset_ns);
    query->correction_s = (double)exchange.offset_ns * 1e-9;
    query->delay_s = (double)exchange.delay_ns * 1e-9;
    return 1;
}

static void wait_s(double seconds) {
    struct timespec pause = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&pause, NULL);
}

/* Waits until the server answers, as a daemon takes a moment to start. */
static int wait_for_server(struct client* client, int socket, pid_t chronyd) {
    for (int i = 0; i < ATTEMPTS; ++i) {
        struct ntp_exchange exchange;
        struct rgap_source clock = {client, client_now, NULL};
        if (sntp_ask(socket, clock, &exchange)) {
            return 1;
        }
        if (chronyd > 0 && !sntp_chronyd_runs(chronyd)) {
            return 0;
        }
        wait_s(ATTEMPT_PAUSE_NS * 1e-9);
    }
    return 0;
}

static void start_clock(struct client* client, const struct study* study) {
    client->local.rvec = study->rvec;
    client->local.rate_ppm = study->options->rate_ppm;
    client->local.offset_ns = 0;
    client->local.offset_ns = system_now(NULL) - drifting_now(&client->local);
    client->clock = (struct disciplined){.slews = study->options->slew};
}

/* Of all queries but the first, before which no interval has passed. */
static void report(struct study* study, const struct query* queries, uint32_t count) {
    uint32_t corrected = count - 1;
    double* at = malloc(sizeof(double) * corrected * 3);
    if (at == NULL) {
        return;
    }
    double *corrections = at + corrected, *errors = corrections + corrected;
    double largest = 0, least_delay = queries[0].delay_s;
    struct spread spread = {0};
    uint32_t back = 0;
    for (uint32_t i = 0; i < corrected; ++i) {
        const struct query* query = &queries[i + 1];
        at[i] = i + 2;
        corrections[i] = query->correction_s;
        errors[i] = query->error_s;
        spread_add(&spread, fabs(corrections[i]));
        largest = fmax(largest, fabs(corrections[i]));
        least_delay = fmin(least_delay, query->delay_s);
        back += !study->options->slew && corrections[i] < 0;
    }
    struct output* output = study->output;
    output_sample(output, "correction_mean_s", spread.mean, "s");
    output_sample(output, "correction_sd_s", spread_sd(&spread), "s");
    output_sample(output, "correction_largest_s", largest, "s");
    output_sample(output, "delay_least_s", least_delay, "s");
    output_sample(output, "steps_back", back, "1");
    output_curve(output, "correction_s", "s", "", "query", "", at, corrections, corrected);
    output_curve(output, "error_before_s", "s", "", "query", "", at, errors, corrected);
    free(at);
}

static int run_queries(struct study* study, struct client* client, int socket) {
    uint32_t count = study->options->queries, lost = 0;
    struct query* queries = calloc(count, sizeof(*queries));
    for (uint32_t i = 0; queries != NULL && i < count; ++i) {
        if (i > 0) {
            wait_s(study->options->interval_s);
        }
        while (!ask_once(client, socket, &queries[i])) {
            if (++lost > ATTEMPTS) {
                study->error = "the server stopped answering";
                free(queries);
                return STUDY_IMPOSSIBLE;
            }
        }
    }
    if (queries == NULL) {
        study->error = "there is not memory enough";
        return STUDY_IMPOSSIBLE;
    }
    report(study, queries, count);
    free(queries);
    return STUDY_OK;
}

/* Queries the server from the other host; it must be running. */
static int ask_server(struct study* study, const struct hosts* hosts, pid_t chronyd) {
    struct client client;
    int socket = hosts_enter(hosts->clients[0]) == 0 ? sntp_connect(HOSTS_SERVER_ADDRESS) : -1;
    int status = STUDY_IMPOSSIBLE;
    study->error = "no NTP server answers";
    start_clock(&client, study);
    if (socket >= 0 && wait_for_server(&client, socket, chronyd)) {
        start_clock(&client, study);
        study->error = NULL;
        status = run_queries(study, &client, socket);
    } else if (chronyd > 0 && !sntp_chronyd_runs(chronyd)) {
        study->error = "chronyd did not start: install chrony, or choose server = \"own\"";
    }
    if (socket >= 0) {
        close(socket);
    }
    return status;
}

int study_ntp(struct study* study) {
    struct hosts hosts;
    const char* refused = hosts_open(&hosts, 1);
    int status = STUDY_IMPOSSIBLE;
    if (refused != NULL) {
        study->error = refused;
    } else if (study->options->own_server) {
        struct rgap_source time = {NULL, system_now, NULL};
        struct sntp_server* server = sntp_server_start(HOSTS_SERVER_ADDRESS, time);
        study->error = "the NTP port cannot be had";
        status = server != NULL ? ask_server(study, &hosts, 0) : STUDY_IMPOSSIBLE;
        sntp_server_stop(server);
    } else {
        pid_t chronyd = sntp_chronyd_start();
        study->error = "chronyd cannot be started";
        status = chronyd > 0 ? ask_server(study, &hosts, chronyd) : STUDY_IMPOSSIBLE;
        sntp_chronyd_stop(chronyd);
    }
    hosts_close(&hosts);
    return status;
}

#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static const uint8_t KEY[] = "aferir-clock-bench: a key for this run alone";

/* Moves this thread into a namespace; sockets opened there stay there. */
static int enter(const char* netns) {
    if (netns == NULL) {
        return 0;
    }
    char path[256];
    snprintf(path, sizeof(path), "/run/netns/%s", netns);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int status = file < 0 ? -1 : setns(file, CLONE_NEWNET);
    if (status != 0) {
        perror(path);
    }
    if (file >= 0) {
        close(file);
    }
    return status;
}

static struct rgap_server* start_server(struct rvec* rvec, const struct bench_options* options,
                                        uint16_t* port) {
    struct rgap_server_config config;
    rgap_server_config_init(&config);
    config.address = options->server_address;
    config.port = 0;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = rgap_source_rvec(rvec);
    config.cpu = options->server_cpu;
    config.user_stamps = options->user_stamps;
    struct rgap_server* server = NULL;
    int status =
        enter(options->server_netns) == 0 ? rgap_server_start(&server, &config) : RGAP_ERROR_SYSTEM;
    if (status != RGAP_OK) {
        fprintf(stderr, "server: %s\n", rgap_strerror(status));
        return NULL;
    }
    struct rgap_server_facts facts;
    rgap_server_info(server, &facts);
    *port = facts.port;
    return server;
}

struct results {
    double *error, *took, *bound, *exchanges;
    uint32_t count, failures, outside, all_by_kernel;
};

static void synchronise(const struct rgap_config* config, struct results* results) {
    struct rgap* clock = NULL;
    struct rgap_facts facts;
    if (rgap_create(&clock, config) != RGAP_OK) {
        results->failures += 1;
        return;
    }
    rgap_info(clock, &facts);
    uint32_t i = results->count++;
    results->error[i] = fabs((double)facts.offset_ns);
    results->took[i] = (double)facts.duration_ns;
    results->bound[i] = (double)facts.half_width_ns;
    results->exchanges[i] = facts.exchanges;
    results->outside += results->error[i] > results->bound[i];
    results->all_by_kernel += facts.kernel_stamped + 10 >= facts.exchanges;
    rgap_destroy(clock);
}

static void print(struct results* r, const struct bench_options* options) {
    uint32_t n = r->count;
    printf(
        "{\"bench\": \"one_shot_sync\", \"server\": \"%s\", \"stamps\": \"%s\", "
        "\"runs\": %u, \"failures\": %u, ",
        options->server_address, options->user_stamps ? "user" : "kernel", n, r->failures);
    if (n > 0) {
        printf(
            "\"median_error_ns\": %.0f, \"p90_error_ns\": %.0f, \"p99_error_ns\": %.0f, "
            "\"max_error_ns\": %.0f, \"median_took_ns\": %.0f, \"p90_took_ns\": %.0f, "
            "\"min_took_ns\": %.0f, \"median_bound_ns\": %.0f, \"median_exchanges\": %.0f, ",
            bench_quantile(r->error, n, 0.5), bench_quantile(r->error, n, 0.9),
            bench_quantile(r->error, n, 0.99), bench_quantile(r->error, n, 1),
            bench_quantile(r->took, n, 0.5), bench_quantile(r->took, n, 0.9),
            bench_quantile(r->took, n, 0), bench_quantile(r->bound, n, 0.5),
            bench_quantile(r->exchanges, n, 0.5));
    }
    printf("\"outside_bound\": %u, \"stamped_by_kernel\": %u}\n", r->outside, r->all_by_kernel);
}

int bench_sync(struct rvec* rvec, const struct bench_options* options) {
    uint16_t port;
    struct rgap_server* server = start_server(rvec, options, &port);
    if (server == NULL || enter(options->client_netns) != 0) {
        rgap_server_stop(server);
        return 1;
    }
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = options->server_address;
    config.port = port;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = rgap_source_rvec(rvec);
    config.user_stamps = options->user_stamps;
    struct results results = {0};
    double* memory = calloc((size_t)options->syncs * 4, sizeof(double));
    results.error = memory;
    results.took = memory + options->syncs;
    results.bound = memory + 2 * (size_t)options->syncs;
    results.exchanges = memory + 3 * (size_t)options->syncs;
    for (uint32_t i = 0; memory != NULL && i < options->syncs; ++i) {
        /* Pauses for random times, so as not to fall into step with anything periodic. */
        struct timespec pause = {0, 1000000 + rand() % 4000000};
        nanosleep(&pause, NULL);
        synchronise(&config, &results);
    }
    rgap_server_stop(server);
    print(&results, options);
    free(memory);
    return results.failures != 0;
}

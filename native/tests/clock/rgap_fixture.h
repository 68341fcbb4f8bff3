/* A server and clients on loopback that all read one clock, so that the true offset is 0. */
#ifndef AFERIR_CLOCK_RGAP_FIXTURE_H
#define AFERIR_CLOCK_RGAP_FIXTURE_H

#include <stdio.h>
#include <time.h>

#include "aferir/rgap.h"
#include "aferir/rvec.h"
#include "check.h"

static const uint8_t KEY[] = "a key of 32 bytes for this test.";
static struct rvec* rvec;

static inline void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static inline struct rgap_server* serve(const char* address, struct rgap* upstream,
                                        uint16_t* port) {
    struct rgap_server_config config;
    struct rgap_server_facts facts;
    struct rgap_server* server = NULL;
    rgap_server_config_init(&config);
    config.address = address;
    config.port = 0;
    config.key = KEY;
    config.key_length = 32;
    config.source = rgap_source_rvec(rvec);
    config.upstream = upstream;
    int status = rgap_server_start(&server, &config);
    if (status != RGAP_OK) {
        fprintf(stderr, "%s: %s\n", address, rgap_strerror(status));
        return NULL;
    }
    CHECK(rgap_server_info(server, &facts) == RGAP_OK);
    *port = facts.port;
    return server;
}

static inline struct rgap_config config_to(const char* address, uint16_t port) {
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = address;
    config.port = port;
    config.key = KEY;
    config.key_length = 32;
    config.source = rgap_source_rvec(rvec);
    return config;
}

/* Creates a clock, with repeated attempts: the server's thread may lose its core for longer than a
 * client waits. */
static inline int created(struct rgap** clock, const struct rgap_config* config) {
    int status = rgap_create(clock, config);
    while (status == RGAP_ERROR_NO_ANSWER) {
        status = rgap_create(clock, config);
    }
    return status;
}

/* Takes a look, with repeated attempts as in created(). */
static inline int looked(struct rgap* clock) {
    int status = rgap_look(clock);
    while (status == RGAP_ERROR_NO_ANSWER) {
        status = rgap_look(clock);
    }
    return status;
}

static inline void check_inside(struct rgap* clock) {
    uint64_t time, bound, before = rvec_process_now(rvec);
    CHECK(rgap_now(clock, &time, &bound) == RGAP_OK);
    uint64_t after = rvec_process_now(rvec);
    CHECK((int64_t)(time + bound - before) >= 0);
    CHECK((int64_t)(after + bound - time) >= 0);
}

#endif

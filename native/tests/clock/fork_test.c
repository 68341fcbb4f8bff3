/* Tests children of a process whose threads were inside the libraries when it forked. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aferir/rgap.h"
#include "check.h"

enum { PATIENCE_S = 600 };

static const uint8_t KEY[] = "a key of 32 bytes for this test.";
static struct rvec* rvec;
static _Atomic int done;

/* Runs `act` in a child process, whose alarm ends it if it waits for a lock for ever. */
static void in_child(void (*act)(void* context), void* context) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_S);
        act(context);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void* keep_checking(void* unused) {
    while (!atomic_load(&done)) {
        rvec_check(rvec, NULL);
        rvec_refine(rvec);
    }
    return unused;
}

static void use_rvec(void* unused) {
    struct rvec_facts facts;
    uint64_t last = 0;
    (void)unused;
    for (int i = 0; i < 1000; ++i) {
        uint64_t now = rvec_process_now(rvec);
        CHECK(now > last);
        last = now;
    }
    CHECK(rvec_info(rvec, &facts) == RVEC_OK);
    CHECK(rvec_check(rvec, NULL) == RVEC_OK);
    struct rvec* own;
    CHECK(rvec_open(&own, NULL) == RVEC_OK);
    rvec_close(own);
}

static void a_child_reads_whatever_its_parent_was_doing(void) {
    pthread_t thread;
    atomic_store(&done, 0);
    CHECK(pthread_create(&thread, NULL, keep_checking, NULL) == 0);
    for (int i = 0; i < 100; ++i) {
        in_child(use_rvec, NULL);
    }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
}

static struct rgap_server* serve(uint16_t* port) {
    struct rgap_server* server;
    struct rgap_server_facts facts;
    struct rgap_server_config config;
    rgap_server_config_init(&config);
    config.port = 0;
    config.key = KEY;
    config.key_length = 32;
    config.source = rgap_source_rvec(rvec);
    CHECK(rgap_server_start(&server, &config) == RGAP_OK);
    CHECK(rgap_server_info(server, &facts) == RGAP_OK);
    *port = facts.port;
    return server;
}

static struct rgap* synchronise(uint16_t port, int background) {
    struct rgap* clock;
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = "127.0.0.1";
    config.port = port;
    config.key = KEY;
    config.key_length = 32;
    config.source = rgap_source_rvec(rvec);
    config.background = background;
    int status = rgap_create(&clock, &config);
    while (status == RGAP_ERROR_NO_ANSWER) { /* the server's thread lost its core for long */
        status = rgap_create(&clock, &config);
    }
    CHECK(status == RGAP_OK);
    return clock;
}

static int looks(struct rgap* clock) {
    int status = rgap_look(clock);
    while (status == RGAP_ERROR_NO_ANSWER) {
        status = rgap_look(clock);
    }
    return status == RGAP_OK;
}

static void* keep_looking(void* clock) {
    while (!atomic_load(&done)) {
        CHECK(looks(clock));
    }
    return NULL;
}

static void use_rgap(void* clock) {
    struct rgap_facts facts;
    uint64_t time, later, bound;
    CHECK(rgap_now(clock, &time, &bound) == RGAP_OK);
    CHECK(rgap_info(clock, &facts) == RGAP_OK && facts.looks >= 1);
    CHECK(looks(clock));
    CHECK(rgap_now(clock, &later, &bound) == RGAP_OK && later > time);
    rgap_destroy(clock);
}

static void a_child_looks_though_its_parent_was_looking(void) {
    uint16_t port;
    struct rgap_server* server = serve(&port);
    struct rgap* clock = synchronise(port, 1);
    pthread_t thread;
    atomic_store(&done, 0);
    CHECK(pthread_create(&thread, NULL, keep_looking, clock) == 0);
    for (int i = 0; i < 20; ++i) {
        in_child(use_rgap, clock);
    }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    rgap_destroy(clock);
    rgap_server_stop(server);
}

static void stop_in_child(void* server) {
    struct rgap_server_facts facts;
    CHECK(rgap_server_info(server, &facts) == RGAP_OK);
    rgap_server_stop(server);
}

static void a_server_goes_on_in_the_parent(void) {
    uint16_t port;
    struct rgap_server* server = serve(&port);
    in_child(stop_in_child, server);
    struct rgap* clock = synchronise(port, 0);
    rgap_destroy(clock);
    rgap_server_stop(server);
}

int main(void) {
    CHECK(rvec_open(&rvec, NULL) == RVEC_OK);
    RUN(a_child_reads_whatever_its_parent_was_doing);
    RUN(a_child_looks_though_its_parent_was_looking);
    RUN(a_server_goes_on_in_the_parent);
    rvec_close(rvec);
    return 0;
}

/* Tests RGAP with real sockets on loopback: addresses, stamps, rates, trees of servers. */
#define _GNU_SOURCE
#include "aferir/rgap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "drift.h"
#include "rgap_fixture.h"
#include "rgap_private.h"

/* Facts of the clock after its second look, taken by its own thread or by rgap_poll(). Either may
 * get no answer for as long as the server's thread has no core. */
static struct rgap_facts looked_twice(struct rgap* clock) {
    struct rgap_facts facts;
    rgap_info(clock, &facts);
    while (facts.looks < 2) {
        rgap_poll(clock);
        pause_ms(10);
        rgap_info(clock, &facts);
    }
    CHECK(facts.looks == 2);
    return facts;
}

static int has_ipv6(void) {
    struct sockaddr_in6 own = {0};
    own.sin6_family = AF_INET6;
    own.sin6_addr = in6addr_loopback;
    int opened = socket(AF_INET6, SOCK_DGRAM, 0);
    int works = opened >= 0 && bind(opened, (struct sockaddr*)&own, sizeof(own)) == 0;
    if (opened >= 0) {
        close(opened);
    }
    return works;
}

static void synchronises(const char* address) {
    uint16_t port;
    struct rgap_server* server = serve(address, NULL, &port);
    if (server == NULL && strchr(address, ':') != NULL) {
        printf("skip: no IPv6 here\n");
        return;
    }
    CHECK(server != NULL);
    struct rgap_config config = config_to(address, port);
    for (int i = 0; i < 20; ++i) {
        struct rgap* clock;
        struct rgap_facts facts;
        CHECK(created(&clock, &config) == RGAP_OK);
        CHECK(rgap_info(clock, &facts) == RGAP_OK);
        CHECK(facts.level == 1 && facts.looks == 1 && facts.timeline != 0);
        check_inside(clock);
        rgap_destroy(clock);
    }
    rgap_server_stop(server);
}

static void over_ipv4_and_ipv6(void) {
    synchronises("127.0.0.1");
    synchronises("::1");
}

/* A server bound to every address answers from the address that it was asked at, whatever the
 * routing table would choose: a connected client receives nothing else. */
static void asked_at_many_addresses(const char* bound, int asked) {
    const char* addresses[] = {"127.0.0.1", "127.0.0.2", "127.9.8.7", "::1"};
    uint16_t port;
    struct rgap_server* server = serve(bound, NULL, &port);
    CHECK(server != NULL);
    for (int i = 0; i < asked; ++i) {
        struct rgap_config config = config_to(addresses[i], port);
        struct rgap* clock;
        int status = created(&clock, &config);
        if (status != RGAP_OK) {
            fprintf(stderr, "%s: %s\n", addresses[i], rgap_strerror(status));
        }
        CHECK(status == RGAP_OK);
        check_inside(clock);
        rgap_destroy(clock);
    }
    rgap_server_stop(server);
}

static void answers_from_the_address_that_was_asked(void) {
    asked_at_many_addresses("0.0.0.0", 3);
    asked_at_many_addresses(NULL, has_ipv6() ? 4 : 3);
}

static void a_deadline_of_for_ever_is_one(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct rgap_config config = config_to("127.0.0.1", port);
    config.deadline_ns = UINT64_MAX;
    config.second_look_ns = UINT64_MAX;
    config.background = 1;
    struct rgap* clock;
    CHECK(created(&clock, &config) == RGAP_OK);
    check_inside(clock);
    rgap_destroy(clock);
    rgap_server_stop(server);
}

/* Reads in the middle of an update, as a thread of higher priority does that has taken the writer's
 * core: if there were one copy only, it would wait for ever. */
static void a_reader_does_not_wait_for_a_writer(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct rgap_config config = config_to("127.0.0.1", port);
    struct rgap* clock;
    CHECK(created(&clock, &config) == RGAP_OK);
    for (int step = 0; step < 2; ++step) {
        uint32_t sequence = atomic_fetch_add(&clock->sequence, 1) + 1;
        uint64_t kept[PUBLISHED_WORDS];
        for (int i = 0; i < PUBLISHED_WORDS; ++i) {
            kept[i] = atomic_exchange(&clock->words[1 - sequence % 2][i], 0x5555);
        }
        check_inside(clock);
        for (int i = 0; i < PUBLISHED_WORDS; ++i) {
            atomic_store(&clock->words[1 - sequence % 2][i], kept[i]);
        }
    }
    rgap_destroy(clock);
    rgap_server_stop(server);
}

static void with_the_program_s_own_stamps(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct rgap_config config = config_to("127.0.0.1", port);
    config.user_stamps = 1;
    struct rgap* clock;
    struct rgap_facts facts;
    CHECK(created(&clock, &config) == RGAP_OK);
    rgap_info(clock, &facts);
    CHECK(facts.kernel_stamped == 0);
    check_inside(clock);
    rgap_destroy(clock);
    rgap_server_stop(server);
}

/* The second look is taken by the program or by a thread; two equal clocks stay equal. */
static void second_looks_find_injected_rates(void) {
    const double rates[] = {0, 30, -100};
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct drifting_clock local[6];
    struct rgap* clock[6];
    for (int i = 0; i < 6; ++i) {
        struct drifting_clock fresh = {rvec, rates[i % 3], 987654321U};
        local[i] = fresh;
        struct rgap_config config = config_to("127.0.0.1", port);
        config.source = drifting_source(&local[i]);
        config.background = i >= 3;
        CHECK(created(&clock[i], &config) == RGAP_OK);
    }
    for (int i = 0; i < 130; ++i) {
        pause_ms(10);
        for (int k = 0; k < 6; ++k) {
            check_inside(clock[k]);
        }
    }
    for (int i = 0; i < 6; ++i) {
        struct rgap_facts facts = looked_twice(clock[i]);
        CHECK_NEAR(facts.rate_ppm, -rates[i % 3], facts.rate_doubt_ppm + 0.02);
        check_inside(clock[i]);
    }
    for (int i = 0; i < 6; ++i) {
        rgap_destroy(clock[i]);
    }
    rgap_server_stop(server);
}

static void a_tree_adds_its_bounds_up(void) {
    struct rgap_server* server[4];
    struct rgap* clock[4];
    uint16_t port;
    server[0] = serve("127.0.0.1", NULL, &port);
    uint64_t time, bound, last_bound = 0;
    for (uint32_t level = 1; level < 4; ++level) {
        struct rgap_config config = config_to("127.0.0.1", port);
        struct rgap_facts facts;
        struct rgap_server_facts served;
        CHECK(created(&clock[level], &config) == RGAP_OK);
        rgap_info(clock[level], &facts);
        rgap_server_info(server[0], &served);
        CHECK(facts.level == level);
        CHECK(facts.timeline == served.timeline);
        rgap_now(clock[level], &time, &bound);
        CHECK(bound > last_bound);
        last_bound = bound;
        check_inside(clock[level]);
        server[level] = serve("127.0.0.1", clock[level], &port);
    }
    for (int level = 3; level >= 0; --level) {
        rgap_server_stop(server[level]);
        if (level > 0) {
            rgap_destroy(clock[level]);
        }
    }
}

int main(void) {
    CHECK(rvec_open(&rvec, NULL) == RVEC_OK);
    RUN(over_ipv4_and_ipv6);
    RUN(answers_from_the_address_that_was_asked);
    RUN(a_deadline_of_for_ever_is_one);
    RUN(a_reader_does_not_wait_for_a_writer);
    RUN(with_the_program_s_own_stamps);
    RUN(second_looks_find_injected_rates);
    RUN(a_tree_adds_its_bounds_up);
    rvec_close(rvec);
    return 0;
}

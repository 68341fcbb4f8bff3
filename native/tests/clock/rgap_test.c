/* Real sockets on loopback: server, clients, trees, bad paths. */
#define _GNU_SOURCE
#include "aferir/rgap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "drift.h"
#include "proxy.h"
#include "rgap_private.h"

static const uint8_t KEY[] = "a key of 32 bytes for this test.";
static struct rvec* rvec;

static void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static struct rgap_server* serve(const char* address, struct rgap* upstream, uint16_t* port) {
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

static struct rgap_config config_to(const char* address, uint16_t port) {
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = address;
    config.port = port;
    config.key = KEY;
    config.key_length = 32;
    config.source = rgap_source_rvec(rvec);
    return config;
}

/* The server's thread may be kept from its core for longer than a client waits. */
static int created(struct rgap** clock, const struct rgap_config* config) {
    int status = rgap_create(clock, config);
    for (int i = 0; i < 20 && status != RGAP_OK; ++i) {
        status = rgap_create(clock, config);
    }
    return status;
}

/* The facts once the clock has looked twice: by its thread, or by being asked. */
static struct rgap_facts looked_twice(struct rgap* clock) {
    struct rgap_facts facts;
    rgap_info(clock, &facts);
    for (int i = 0; i < 1000 && facts.looks < 2; ++i) {
        rgap_poll(clock);
        pause_ms(10);
        rgap_info(clock, &facts);
    }
    CHECK(facts.looks == 2);
    return facts;
}

static void check_inside(struct rgap* clock) {
    uint64_t time, bound, before = rvec_process_now(rvec);
    CHECK(rgap_now(clock, &time, &bound) == RGAP_OK);
    uint64_t after = rvec_process_now(rvec);
    CHECK((int64_t)(time + bound - before) >= 0);
    CHECK((int64_t)(after + bound - time) >= 0);
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

/* Bound to every address it answers from the one that was asked, whichever the routing table would
 * take: a connected client sees no other. */
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

/* As one of a higher priority does that has taken the writer's core: were there one copy, the
 * reader would wait for ever. */
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

/* The second look by the program's asking and by a thread; two equal clocks stay equal. */
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

static void survives_a_bad_path(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    const struct proxy_path bad = {100000, 400000, 100000, 0.05, 0.1, 0.3};
    struct proxy* proxy = proxy_start(port, &bad, 7);
    CHECK(proxy != NULL);
    struct rgap_config config = config_to("127.0.0.1", proxy_port(proxy));
    config.spread_ns = 100000;
    config.deadline_ns = 10000000000U;
    struct rgap* clock;
    struct rgap_facts facts;
    struct rgap_server_facts served;
    CHECK(created(&clock, &config) == RGAP_OK);
    rgap_info(clock, &facts);
    rgap_server_info(server, &served);
    CHECK(facts.malformed + facts.foreign > 0);
    CHECK(served.malformed + served.foreign > 0);
    check_inside(clock);
    rgap_destroy(clock);
    proxy_stop(proxy);
    rgap_server_stop(server);
}

static void goes_on_without_its_server(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct rgap_config config = config_to("127.0.0.1", port);
    config.deadline_ns = 100000000;
    struct rgap* clock;
    struct rgap_facts facts;
    CHECK(created(&clock, &config) == RGAP_OK);
    rgap_server_stop(server);
    uint64_t time, bound, later, grown;
    rgap_now(clock, &time, &bound);
    CHECK(rgap_look(clock) == RGAP_ERROR_NO_ANSWER);
    rgap_info(clock, &facts);
    CHECK(facts.last_status == RGAP_ERROR_NO_ANSWER);
    CHECK(facts.lost > 0);
    rgap_now(clock, &later, &grown);
    CHECK(later > time && grown > bound);
    check_inside(clock);
    rgap_destroy(clock);
}

/* Another server on the same port is another time, and is not mixed with the first. */
static void notices_another_timeline(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct rgap_config config = config_to("127.0.0.1", port);
    struct rgap* clock;
    CHECK(created(&clock, &config) == RGAP_OK);
    rgap_server_stop(server);
    struct rgap_server_config again;
    rgap_server_config_init(&again);
    again.address = "127.0.0.1";
    again.port = port;
    again.key = KEY;
    again.key_length = 32;
    again.source = rgap_source_rvec(rvec);
    CHECK(rgap_server_start(&server, &again) == RGAP_OK);
    CHECK(rgap_look(clock) == RGAP_ERROR_OTHER_TIMELINE);
    check_inside(clock);
    rgap_destroy(clock);
    rgap_server_stop(server);
}

static void refuses_what_makes_no_sense(void) {
    uint16_t port;
    struct rgap* clock;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct rgap_config config = config_to("127.0.0.1", port);
    config.deadline_ns = 100000000;
    config.key = (const uint8_t*)"some other key of thirty-two oct";
    CHECK(rgap_create(&clock, &config) == RGAP_ERROR_NO_ANSWER);
    struct rgap_server_facts facts;
    for (rgap_server_info(server, &facts); facts.foreign == 0; rgap_server_info(server, &facts)) {
        pause_ms(10); /* until the server's thread gets a processor */
    }
    CHECK(facts.answered == 0);
    config.key_length = 15;
    CHECK(rgap_create(&clock, &config) == RGAP_ERROR_ARGUMENT);
    config = config_to("256.0.0.1", port);
    CHECK(rgap_create(&clock, &config) == RGAP_ERROR_ADDRESS);
    config = config_to(NULL, port);
    CHECK(rgap_create(&clock, &config) == RGAP_ERROR_ARGUMENT);
    CHECK(rgap_create(NULL, &config) == RGAP_ERROR_ARGUMENT);
    CHECK(rgap_now(NULL, NULL, NULL) == RGAP_ERROR_ARGUMENT);
    rgap_server_stop(server);
    rgap_server_stop(NULL);
    rgap_destroy(NULL);
}

/* Rubbish at full speed, while a client synchronises. */
static void a_flood_of_rubbish_is_counted(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct sockaddr_in to;
    memset(&to, 0, sizeof(to));
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int sender = socket(AF_INET, SOCK_DGRAM, 0);
    uint8_t rubbish[200];
    uint64_t seed = 3;
    for (int i = 0; i < 2000; ++i) {
        for (size_t k = 0; k < sizeof(rubbish); ++k) {
            rubbish[k] = (uint8_t)random_next(&seed);
        }
        sendto(sender, rubbish, random_below(&seed, sizeof(rubbish)), 0, (struct sockaddr*)&to,
               sizeof(to));
    }
    close(sender);
    struct rgap_config config = config_to("127.0.0.1", port);
    struct rgap* clock;
    CHECK(created(&clock, &config) == RGAP_OK);
    check_inside(clock);
    struct rgap_server_facts facts;
    rgap_server_info(server, &facts);
    CHECK(facts.malformed > 0);
    rgap_destroy(clock);
    rgap_server_stop(server);
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
    RUN(survives_a_bad_path);
    RUN(goes_on_without_its_server);
    RUN(notices_another_timeline);
    RUN(refuses_what_makes_no_sense);
    RUN(a_flood_of_rubbish_is_counted);
    rvec_close(rvec);
    return 0;
}

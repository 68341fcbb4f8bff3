/* Tests RGAP with real sockets on loopback: bad paths, servers that end or are replaced, and
 * invalid arguments. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy.h"
#include "rgap_fixture.h"

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
    for (;;) { /* however few messages a look has on a busy machine */
        rgap_info(clock, &facts);
        rgap_server_info(server, &served);
        check_inside(clock);
        if (facts.malformed + facts.foreign > 0 && served.malformed + served.foreign > 0) {
            break;
        }
        CHECK(looked(clock) == RGAP_OK);
    }
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

/* Another server on the same port has another time, which is not mixed with that of the first.
 * Returns 0 if another program has taken the port in between. */
static int another_timeline_is_noticed(void) {
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
    if (rgap_server_start(&server, &again) != RGAP_OK) {
        rgap_destroy(clock);
        return 0;
    }
    CHECK(looked(clock) == RGAP_ERROR_OTHER_TIMELINE);
    check_inside(clock);
    rgap_destroy(clock);
    rgap_server_stop(server);
    return 1;
}

static void notices_another_timeline(void) {
    while (!another_timeline_is_noticed()) {
    }
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

/* A test's local clock, whose doubt grows just before another thread looks again. */
struct growing {
    uint64_t doubt_ns;
    struct rgap* looks_again; /* NULL: nobody */
};

static uint64_t growing_now(void* context) {
    (void)context;
    return rvec_process_now(rvec);
}

static void growing_doubt(void* context, struct rgap_doubt* out) {
    struct growing* growing = context;
    struct rgap* clock = growing->looks_again;
    out->ns = growing->doubt_ns;
    out->ppb = 0;
    if (clock != NULL) {
        growing->looks_again = NULL;
        growing->doubt_ns += 10000000000U;
        CHECK(looked(clock) == RGAP_OK);
    }
}

/* If a look falls into the middle of a reading, the reading has the bound from before or from after
 * it. */
static void a_doubt_that_grows_within_a_reading_leaves_the_bound(void) {
    uint16_t port;
    struct rgap_server* server = serve("127.0.0.1", NULL, &port);
    struct growing growing = {0, NULL};
    struct rgap_config config = config_to("127.0.0.1", port);
    config.source = (struct rgap_source){&growing, growing_now, growing_doubt};
    struct rgap* clock;
    CHECK(created(&clock, &config) == RGAP_OK);
    growing.looks_again = clock;
    uint64_t time, bound;
    CHECK(rgap_now(clock, &time, &bound) == RGAP_OK);
    CHECK(growing.looks_again == NULL && bound < growing.doubt_ns);
    rgap_destroy(clock);
    rgap_server_stop(server);
}

/* Invalid datagrams arrive at full speed while a client synchronises. */
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
    RUN(survives_a_bad_path);
    RUN(goes_on_without_its_server);
    RUN(notices_another_timeline);
    RUN(refuses_what_makes_no_sense);
    RUN(a_doubt_that_grows_within_a_reading_leaves_the_bound);
    RUN(a_flood_of_rubbish_is_counted);
    rvec_close(rvec);
    return 0;
}

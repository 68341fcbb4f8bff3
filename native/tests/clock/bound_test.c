/* Tests the bound of a global clock over hours of simulated time. */
#include "bound.h"

#include "simulated_network.h"

static const char KEY[] = "a key of 32 bytes for this test.";
static const struct filter_rule RULE = {5, 20, 20, 2000, 500, 250};
static const struct oscillators LIMITS = {250e3, 250};
static const struct rgap_doubt NO_DOUBT = {0, 0};
static struct responder responder;
static struct hmac_key key;

static struct network fresh_network(uint64_t seed) {
    uint8_t secret[SHA256_DIGEST] = {1, 2, 3};
    rgap_hmac_prepare(&key, KEY, 32);
    rgap_responder_start(&responder, KEY, 32, secret);
    struct network net;
    memset(&net, 0, sizeof(net));
    net.seed = seed;
    net.now_ns = 1e9;
    net.responder = &responder;
    net.client.start_ns = 7e12;
    net.server.start_ns = 3e12;
    struct simulated_path path = {300, 300, 60, 0.1, 0, 0};
    net.path = path;
    return net;
}

static double check_inside(const struct model* model, const struct network* net) {
    uint64_t time, bound, local = simulated_local(&net->client, net->now_ns);
    rgap_model_read(model, local, &NO_DOUBT, &time, &bound);
    double error = (double)(int64_t)(time - simulated_local(&net->server, net->now_ns));
    CHECK(error <= (double)bound && -error <= (double)bound);
    return error;
}

/* Makes 10,000 checks over 24 hours, after two looks one second apart. */
static void a_day(double rate_ppm, double asymmetry_ns, double heavy_share, uint64_t seed) {
    struct network net = fresh_network(seed);
    net.client.rate_ppb = rate_ppm * 1e3;
    net.client.swing_ppb = 100;
    net.client.swing_period_ns = 3600e9;
    net.path.there_ns += asymmetry_ns;
    net.path.heavy_share = heavy_share;
    struct look first, second;
    CHECK(network_look(&net, &key, &RULE, 10000, &first, NULL));
    struct model model = rgap_model_first(&first, &LIMITS);
    for (int i = 0; i < 100; ++i) {
        check_inside(&model, &net);
        net.now_ns += 1e7;
    }
    CHECK(network_look(&net, &key, &RULE, 10000, &second, NULL));
    struct model old = model;
    model = rgap_model_second(&first, &second, &LIMITS);
    rgap_model_take_over(&model, &old, simulated_local(&net.client, net.now_ns));
    for (int i = 0; i < 10000; ++i) {
        check_inside(&model, &net);
        net.now_ns += 86400e9 / 10000 * 2 * random_unit(&net.seed);
    }
}

static void always_inside_its_own_bound(void) {
    const double rates[] = {0, 5, -5, 30, -30, 100, -100};
    const double asymmetries[] = {0, 2000, 50000};
    uint64_t seed = 1;
    for (int r = 0; r < 7; ++r) {
        for (int a = 0; a < 3; ++a) {
            a_day(rates[r], asymmetries[a], 0.1, seed++);
            a_day(rates[r], asymmetries[a], 0.6, seed++);
        }
    }
}

/* Takes two looks, one second apart, at clocks of the same rate. */
static void invents_no_rate(void) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        struct network net = fresh_network(seed);
        struct look first, second;
        CHECK(network_look(&net, &key, &RULE, 10000, &first, NULL));
        net.now_ns += 1e9;
        CHECK(network_look(&net, &key, &RULE, 10000, &second, NULL));
        struct model model = rgap_model_second(&first, &second, &LIMITS);
        CHECK(model.looks == 2);
        CHECK(model.rate_ppb == 0);
    }
}

static void finds_the_rate_that_is_there(void) {
    const double rates[] = {5, -5, 30, -30, 100, -100};
    for (int i = 0; i < 6; ++i) {
        struct network net = fresh_network((uint64_t)i + 1);
        net.client.rate_ppb = rates[i] * 1e3;
        struct look first, second;
        CHECK(network_look(&net, &key, &RULE, 10000, &first, NULL));
        net.now_ns += 10e9;
        CHECK(network_look(&net, &key, &RULE, 10000, &second, NULL));
        struct model model = rgap_model_second(&first, &second, &LIMITS);
        /* Rate of global time relative to the local clock: a fast local clock has to be slowed
         * down. */
        CHECK_NEAR(model.rate_ppb, -rates[i] * 1e3, 30);
        CHECK(model.rate_doubt_ppb < 200);
    }
}

/* When a new model takes over, time never goes back and never leaps, whether it runs fast or slow.
 * */
static void takes_over_smoothly(void) {
    for (int side = -1; side <= 1; side += 2) {
        struct network net = fresh_network(9);
        net.client.rate_ppb = side * 100e3;
        struct look first, second;
        CHECK(network_look(&net, &key, &RULE, 10000, &first, NULL));
        struct model old = rgap_model_first(&first, &LIMITS);
        net.now_ns += 1e9;
        CHECK(network_look(&net, &key, &RULE, 10000, &second, NULL));
        struct model model = rgap_model_second(&first, &second, &LIMITS);
        uint64_t local = simulated_local(&net.client, net.now_ns), time, bound, last;
        rgap_model_take_over(&model, &old, local);
        rgap_model_read(&old, local, &NO_DOUBT, &last, &bound);
        for (int i = 0; i < 200000; ++i) {
            local += 20;
            rgap_model_read(&model, local, &NO_DOUBT, &time, &bound);
            CHECK(time > last && time - last <= 23);
            last = time;
        }
        CHECK(bound < 2000); /* all of the 100 us is given up by now */
    }
}

static void grows_with_what_is_admitted(void) {
    struct network net = fresh_network(10);
    struct look look;
    CHECK(network_look(&net, &key, &RULE, 10000, &look, NULL));
    struct model model = rgap_model_first(&look, &LIMITS);
    uint64_t time, bound, later, jumped;
    struct rgap_doubt doubt = {5000, 0};
    rgap_model_read(&model, model.local_ref_ns, &NO_DOUBT, &time, &bound);
    CHECK(bound < 1000);
    rgap_model_read(&model, model.local_ref_ns + 1000000000, &NO_DOUBT, &time, &later);
    CHECK_NEAR(later - bound, 250250, 2);
    rgap_model_read(&model, model.local_ref_ns, &doubt, &time, &jumped);
    CHECK(jumped == bound + 5000);
}

static void a_server_set_anew_makes_a_new_first_look(void) {
    struct network net = fresh_network(11);
    struct look first, second;
    CHECK(network_look(&net, &key, &RULE, 10000, &first, NULL));
    net.now_ns += 1e9;
    net.served.revision = 2;
    CHECK(network_look(&net, &key, &RULE, 10000, &second, NULL));
    CHECK(rgap_model_second(&first, &second, &LIMITS).looks == 1);
}

/* Bounds add up from server to server along a path of the tree. */
static void a_server_passes_its_bound_on(void) {
    struct network net = fresh_network(12);
    net.served.bound_ns = 7000;
    net.served.rate_doubt_ppb = 300;
    struct look look;
    CHECK(network_look(&net, &key, &RULE, 10000, &look, NULL));
    struct model model = rgap_model_first(&look, &LIMITS);
    CHECK(model.half_ns >= 7000);
    CHECK_NEAR(model.growth_ppb, 250e3 + 250 + 300, 0.1);
}

int main(void) {
    RUN(always_inside_its_own_bound);
    RUN(invents_no_rate);
    RUN(finds_the_rate_that_is_there);
    RUN(takes_over_smoothly);
    RUN(grows_with_what_is_admitted);
    RUN(a_server_set_anew_makes_a_new_first_look);
    RUN(a_server_passes_its_bound_on);
    return 0;
}

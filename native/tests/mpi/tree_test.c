/* Tests the tree of ranks, the grouping into hosts and the offset estimate on simulated clocks,
 * without MPI. */
#include "tree.h"

#include <math.h>

#include "../clock/check.h"
#include "hosts.h"
#include "look.h"

static void each_host_is_served_once_by_one_that_knows_the_time(void) {
    for (uint32_t hosts = 1; hosts <= 300; ++hosts) {
        uint32_t served[300] = {0}, parent[300] = {0};
        for (uint32_t host = 0; host < hosts; ++host) {
            uint32_t before = host;
            for (uint32_t n = 0;; ++n) {
                uint32_t child = tree_child(host, n, hosts);
                if (child == hosts) {
                    break;
                }
                CHECK(child > before);
                before = child;
                served[child] += 1;
                parent[child] = host;
            }
        }
        CHECK(served[0] == 0);
        for (uint32_t host = 1; host < hosts; ++host) {
            CHECK(served[host] == 1);
            CHECK(tree_parent(host) == parent[host]);
            CHECK(tree_depth(host) == tree_depth(parent[host]) + 1);
        }
    }
    CHECK(tree_parent(0) == 0);
}

/* In each round the number of hosts that know the time doubles: all are served by round ceil(log2
 * hosts). */
static void rounds_are_logarithmic(void) {
    for (uint32_t hosts = 2; hosts <= 4096; hosts *= 2) {
        uint32_t done[4096] = {0}, last = 0, rounds = 0;
        for (uint32_t host = 0; host < hosts; ++host) {
            for (uint32_t n = 0; tree_child(host, n, hosts) != hosts; ++n) {
                uint32_t child = tree_child(host, n, hosts);
                done[child] = done[host] + n + 1;
                last = done[child] > last ? done[child] : last;
            }
        }
        while (1U << rounds < hosts) {
            rounds += 1;
        }
        CHECK(last == rounds);
    }
    CHECK(tree_child(0x80000000U, 0, 0xffffffffU) == 0xffffffffU);
}

static void ranks_of_one_clock_are_one_host(void) {
    struct rank_card cards[] = {
        {9, 0, 0, 0}, {4, 0, 0, 0}, {9, 0, 0, 0}, {2, 0, 0, 0}, {4, 0, 0, 0}};
    const uint32_t own[] = {0, 1, 0, 2, 1};
    for (uint32_t rank = 0; rank < 5; ++rank) {
        struct hosts hosts;
        CHECK(hosts_find(cards, 5, rank, &hosts));
        CHECK(hosts.count == 3);
        CHECK(hosts.own == own[rank]);
        CHECK(hosts.leader[0] == 0 && hosts.leader[1] == 1 && hosts.leader[2] == 3);
        hosts_free(&hosts);
    }
}

static void no_clock_goes_back_to_global_time(void) {
    const uint64_t second = 1000000000;
    struct rank_card one[] = {{1, 5 * second, 0, 0}, {1, 6 * second, 0, 0}};
    CHECK(hosts_epoch_shift(one, 2) == 0);
    struct rank_card younger[] = {{1, 100 * second, 0, 0}, {2, 50 * second, 0, 0}};
    CHECK(hosts_epoch_shift(younger, 2) == 0);
    struct rank_card older[] = {{1, 50 * second, 0, 0}, {2, 100 * second, 0, 0}};
    CHECK(hosts_epoch_shift(older, 2) > 50 * second);
    struct rank_card alike[] = {{1, 50 * second, 0, 0}, {2, 50 * second - 5000, 0, 0}};
    CHECK(hosts_epoch_shift(alike, 2) >= second);
}

/* Two clocks on a simulated network. */
struct network {
    uint64_t now;         /* true time */
    int64_t offset;       /* the parent's clock minus ours */
    uint64_t delay;       /* the shortest of either way */
    uint64_t noise_there; /* at most, on top */
    uint64_t noise_back;
    uint64_t random;
    uint32_t asked, told_last;
    uint32_t breaks_after;
    double fast_ppm; /* our clock against true time; the parent's is true */
};

static uint64_t local_at(const struct network* network, uint64_t now) {
    return now + (uint64_t)((double)now * network->fast_ppm * 1e-6);
}

static uint64_t simulated_now(void* context) {
    struct network* network = context;
    return local_at(network, network->now += 20);
}

static int simulated_ask(void* context, int last, struct answer* answer) {
    struct network* network = context;
    network->asked += 1;
    network->told_last += (uint32_t)last;
    if (network->asked > network->breaks_after) {
        return 0;
    }
    network->now += network->delay + random_below(&network->random, network->noise_there + 1);
    answer->time_ns = network->now + (uint64_t)network->offset;
    answer->doubt_ns = 7;
    network->now += network->delay + random_below(&network->random, network->noise_back + 1);
    return 1;
}

static struct network quiet(void) {
    struct network network = {1000000000000, 123456789, 10000, 0, 0, 1, 0, 0, UINT32_MAX, 0};
    return network;
}

static void a_quiet_network_needs_fourteen_exchanges(void) {
    struct network network = quiet();
    struct asker asker = {&network, simulated_now, simulated_ask};
    struct look_result look;
    CHECK(look_at(&asker, &look));
    CHECK(look.exchanges == 14 && network.asked == 14 && network.told_last == 0);
    CHECK_NEAR(look.offset_ns, 123456789, 25);
    CHECK(look.doubt_ns >= 10000 + 7 && look.doubt_ns < 10300);
}

static void a_noisy_one_is_given_up_after_eighteen(void) {
    for (uint64_t seed = 0; seed < 1000; ++seed) {
        struct network network = quiet();
        network.noise_there = 300000;
        network.noise_back = 20000;
        network.random = seed;
        struct asker asker = {&network, simulated_now, simulated_ask};
        struct look_result look;
        CHECK(look_at(&asker, &look));
        CHECK(look.exchanges <= look_most_exchanges());
        CHECK(network.told_last == (look.exchanges == look_most_exchanges()));
        CHECK_NEAR(look.offset_ns, 123456789, look.doubt_ns);
    }
}

/* Discards the first 5 exchanges (D); stops once the standard deviation of the 20 shortest round
 * trips is below 500 ns (K), or after 10,000 exchanges (Dutra 2015, 7.3). */
static void the_published_rule_takes_twenty_five_exchanges_or_up_to_its_bound(void) {
    setenv("AFERIR_MPI_RULE", "published", 1);
    struct network network = quiet();
    struct asker asker = {&network, simulated_now, simulated_ask};
    struct look_result look;
    CHECK(look_at(&asker, &look));
    CHECK(look.exchanges == 25 && network.told_last == 0);
    CHECK_NEAR(look.offset_ns, 123456789, 25);
    for (uint64_t seed = 0; seed < 10; ++seed) {
        network = quiet();
        network.noise_there = network.noise_back = 1000000;
        network.random = seed;
        CHECK(look_at(&asker, &look));
        CHECK(look.exchanges == 10000 && network.told_last == 1);
        CHECK_NEAR(look.offset_ns, 123456789, look.doubt_ns);
    }
    unsetenv("AFERIR_MPI_RULE");
}

/* The minimum of one direction is not affected by noise of the other direction in the same
 * exchange. */
static void each_way_has_its_own_minimum(void) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        struct network network = quiet();
        network.noise_there = network.noise_back = 100000;
        network.random = seed;
        struct asker asker = {&network, simulated_now, simulated_ask};
        struct look_result look;
        CHECK(look_at(&asker, &look));
        sum += (double)llabs(look.offset_ns - 123456789);
    }
    CHECK(sum / 200 < 7000); /* expected 4,000; by the shortest round trip alone 9,100 */
}

static void a_broken_way_is_said(void) {
    struct network network = quiet();
    network.breaks_after = 4;
    struct asker asker = {&network, simulated_now, simulated_ask};
    struct look_result look;
    CHECK(!look_at(&asker, &look));
}

static struct look_result looked_twice(struct network* network, uint64_t apart_ns) {
    struct asker asker = {network, simulated_now, simulated_ask};
    struct look_result first, second;
    CHECK(look_at(&asker, &first));
    network->now += apart_ns;
    CHECK(look_at(&asker, &second));
    look_rate(&first, &second);
    return second;
}

/* With an offset alone, the error would be 108 ms after the hour. */
static void a_clock_30_ppm_off_is_followed_for_an_hour(void) {
    struct network network = quiet();
    network.fast_ppm = 30;
    struct look_result look = looked_twice(&network, 1000000000);
    CHECK(fabs(look.rate_ppb + 30000) <= look.rate_doubt_ppb && look.rate_doubt_ppb < 25000);
    uint64_t later = network.now + 3600000000000U, local = local_at(&network, later);
    int64_t offset = (int64_t)later + network.offset - (int64_t)local;
    CHECK_NEAR(look_offset_at(&look, local), offset, 200000);
}

static void equal_clocks_are_left_equal(void) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        struct network network = quiet();
        network.noise_there = network.noise_back = 1000;
        network.random = seed;
        struct look_result look = looked_twice(&network, 1000000000);
        CHECK(look.rate_ppb == 0 && look.rate_doubt_ppb > 0);
    }
}

static void looks_near_to_each_other_give_no_rate(void) {
    struct network network = quiet();
    network.fast_ppm = 30;
    struct look_result look = looked_twice(&network, 1000000);
    CHECK(look.rate_ppb == 0 && look.rate_doubt_ppb == 250000);
}

int main(void) {
    RUN(each_host_is_served_once_by_one_that_knows_the_time);
    RUN(rounds_are_logarithmic);
    RUN(a_clock_30_ppm_off_is_followed_for_an_hour);
    RUN(equal_clocks_are_left_equal);
    RUN(looks_near_to_each_other_give_no_rate);
    RUN(ranks_of_one_clock_are_one_host);
    RUN(no_clock_goes_back_to_global_time);
    RUN(a_quiet_network_needs_fourteen_exchanges);
    RUN(a_noisy_one_is_given_up_after_eighteen);
    RUN(the_published_rule_takes_twenty_five_exchanges_or_up_to_its_bound);
    RUN(each_way_has_its_own_minimum);
    RUN(a_broken_way_is_said);
    return 0;
}

/* Tests client and server over a bad simulated network, with attackers on it. */
#include "exchange.h"

#include "simulated_network.h"

static const char KEY[] = "a key of 32 bytes for this test.";
static const struct filter_rule RULE = {5, 20, 20, 2000, 500, 250};
static struct hmac_key key;
static struct responder responder;

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
    net.served.timeline = 99;
    struct simulated_path lan = {20000, 20000, 2000, 0.2, 0, 0};
    net.path = lan;
    return net;
}

static double true_offset(const struct network* net, const struct look* look) {
    /* Clocks of rate 0: constant. */
    (void)look;
    return net->server.start_ns - net->client.start_ns;
}

static void finds_the_offset(void) {
    struct network net = fresh_network(1);
    for (int i = 0; i < 300; ++i) {
        struct look look;
        CHECK(network_look(&net, &key, &RULE, 10000, &look, NULL));
        CHECK_NEAR(look.estimate.offset_ns, true_offset(&net, &look), 700);
        CHECK((double)look.estimate.lowest_ns <= true_offset(&net, &look));
        CHECK((double)look.estimate.highest_ns >= true_offset(&net, &look));
        CHECK(look.timeline == 99);
    }
}

static void survives_loss_duplicates_and_late_arrivals(void) {
    struct network net = fresh_network(2);
    struct filter_rule rule = RULE;
    rule.max_exchanges = 300; /* the spread will never be small */
    net.path.loss = 0.2;
    net.path.duplicates = 0.2;
    net.path.jitter_ns = 60000;
    net.path.heavy_share = 0.5;
    uint64_t lost = 0, unexpected = 0;
    for (int i = 0; i < 40; ++i) {
        struct look look;
        struct exchange_counts counts;
        CHECK(network_look(&net, &key, &rule, 10000, &look, &counts));
        CHECK((double)look.estimate.lowest_ns <= true_offset(&net, &look));
        CHECK((double)look.estimate.highest_ns >= true_offset(&net, &look));
        lost += counts.lost;
        unexpected += counts.unexpected;
        CHECK(counts.foreign == 0 && counts.malformed == 0);
    }
    CHECK(lost > 100 && unexpected > 100);
    CHECK(responder.counts.replayed > 100); /* duplicates of requests */
    CHECK(net.replies_bytes <= net.requests_bytes);
}

static void a_dead_server_gives_no_result(void) {
    struct network net = fresh_network(3);
    net.path.loss = 1;
    struct look look;
    CHECK(!network_look(&net, &key, &RULE, 50, &look, NULL));
}

/* In the middle of a look, the server is replaced by one of the same timeline that does not know
 * the session. */
static void begins_anew_where_the_session_is_unknown(void) {
    struct network net = fresh_network(31);
    static struct exchange exchange;
    rgap_exchange_start(&exchange, &key, &RULE, 12);
    enum exchange_event event = EXCHANGE_IGNORED;
    for (int i = 0; i < 60 && event != EXCHANGE_FINISHED; ++i) {
        uint8_t request[WIRE_SIZE];
        rgap_exchange_request(&exchange, random_next(&net.seed), request);
        struct stamp t1 = {simulated_local(&net.client, net.now_ns), 0, 1};
        network_send(&net, request, 1);
        rgap_exchange_sent(&exchange, &t1);
        event = network_await(&net, &exchange, 5e6);
        if (i == 10) {
            uint8_t secret[SHA256_DIGEST] = {9};
            rgap_responder_start(&responder, KEY, 32, secret);
        }
    }
    struct look look;
    CHECK(event == EXCHANGE_FINISHED);
    CHECK(exchange.counts.lost == 3);
    CHECK(rgap_exchange_finish(&exchange, &look));
    CHECK_NEAR(look.estimate.offset_ns, true_offset(&net, &look), 700);
}

static void another_key_gives_no_result(void) {
    struct network net = fresh_network(4);
    struct hmac_key wrong;
    rgap_hmac_prepare(&wrong, "not the key of the server, is it", 32);
    struct look look;
    CHECK(!network_look(&net, &wrong, &RULE, 50, &look, NULL));
    CHECK(responder.counts.foreign == 50);
    CHECK(responder.counts.answered == 0);
}

/* Records the datagrams of one look, as an attacker on the path could. */
struct recorder {
    uint8_t requests[400][WIRE_SIZE];
    int count;
};

static void ask(struct recorder* recorder, struct exchange* exchange, struct network* net,
                uint8_t reply[WIRE_SIZE], uint64_t local) {
    uint8_t request[WIRE_SIZE];
    rgap_exchange_request(exchange, random_next(&net->seed), request);
    memcpy(recorder->requests[recorder->count++], request, WIRE_SIZE);
    CHECK(rgap_responder_handle(&responder, request, WIRE_SIZE, &net->peer, local, &net->served,
                                reply) == WIRE_SIZE);
    rgap_responder_sent(&responder, local);
}

static void replays_are_dropped_at_once_and_later(void) {
    struct network net = fresh_network(5);
    static struct recorder recorder;
    static struct exchange exchange;
    recorder.count = 0;
    rgap_exchange_start(&exchange, &key, &RULE, 4711);
    uint64_t local = 5000000000U;
    uint8_t reply[WIRE_SIZE];
    struct stamp stamp = {local, 0, 1};
    for (int i = 0; i < 20; ++i) {
        ask(&recorder, &exchange, &net, reply, local);
        CHECK(rgap_exchange_receive(&exchange, reply, WIRE_SIZE, &stamp) == EXCHANGE_ANSWERED);
        /* The same answer a second time is not accepted. */
        CHECK(rgap_exchange_receive(&exchange, reply, WIRE_SIZE, &stamp) == EXCHANGE_IGNORED);
    }
    /* Replays all but the HELLO, which takes up no place and gives the attacker nothing of use. */
    for (int i = 1; i < recorder.count; ++i) {
        CHECK(rgap_responder_handle(&responder, recorder.requests[i], WIRE_SIZE, &net.peer, local,
                                    &net.served, reply) == 0);
        CHECK(rgap_responder_handle(&responder, recorder.requests[i], WIRE_SIZE, &net.peer,
                                    local + 10000000000U, &net.served, reply) == 0);
    }
    CHECK(responder.counts.replayed >= 19);
    /* Replaying fails even if the session's place has been given to others meanwhile. */
    memset(responder.sessions, 0, sizeof(responder.sessions));
    uint64_t too_old = responder.counts.foreign;
    CHECK(rgap_responder_handle(&responder, recorder.requests[5], WIRE_SIZE, &net.peer,
                                local + 2100000000U, &net.served, reply) == 0);
    CHECK(responder.counts.foreign == too_old + 1);
    /* From another address the cookie is not valid. */
    struct peer elsewhere = net.peer;
    elsewhere.bytes[0] ^= 1;
    uint64_t foreign = responder.counts.foreign;
    CHECK(rgap_responder_handle(&responder, recorder.requests[5], WIRE_SIZE, &elsewhere, local,
                                &net.served, reply) == 0);
    CHECK(responder.counts.foreign == foreign + 1);
}

static void requests_cannot_be_reflected(void) {
    struct network net = fresh_network(6);
    static struct exchange exchange;
    rgap_exchange_start(&exchange, &key, &RULE, 1);
    uint8_t request[WIRE_SIZE], reply[WIRE_SIZE];
    rgap_exchange_request(&exchange, 5, request);
    struct stamp stamp = {1, 0, 1};
    /* The client's own request sent back to it is no answer, and an answer is no request. */
    CHECK(rgap_exchange_receive(&exchange, request, WIRE_SIZE, &stamp) == EXCHANGE_IGNORED);
    CHECK(rgap_responder_handle(&responder, request, WIRE_SIZE, &net.peer, 1, &net.served, reply) ==
          WIRE_SIZE);
    uint8_t second[WIRE_SIZE];
    CHECK(rgap_responder_handle(&responder, reply, WIRE_SIZE, &net.peer, 1, &net.served, second) ==
          0);
    CHECK(responder.counts.malformed == 1);
}

/* An attacker who has the key, but has not seen this request, cannot answer it. */
static void an_answer_needs_the_nonce(void) {
    static struct exchange exchange;
    fresh_network(9);
    rgap_exchange_start(&exchange, &key, &RULE, 3);
    uint8_t request[WIRE_SIZE], reply[WIRE_SIZE];
    rgap_exchange_request(&exchange, 5, request);
    struct message answer;
    memset(&answer, 0, sizeof(answer));
    answer.type = WIRE_WELCOME;
    answer.session = 3;
    answer.sequence = 1;
    answer.nonce = 6;
    struct stamp stamp = {1, 0, 1};
    rgap_wire_seal(&key, &answer, reply);
    CHECK(rgap_exchange_receive(&exchange, reply, WIRE_SIZE, &stamp) == EXCHANGE_IGNORED);
    CHECK(exchange.counts.unexpected == 1);
    answer.nonce = 5;
    rgap_wire_seal(&key, &answer, reply);
    CHECK(rgap_exchange_receive(&exchange, reply, WIRE_SIZE, &stamp) == EXCHANGE_ANSWERED);
}

static void open_sessions(struct network* net, int count, uint64_t local) {
    static struct exchange exchange;
    uint8_t request[WIRE_SIZE], reply[WIRE_SIZE];
    struct stamp stamp = {1, 0, 1};
    for (int i = 0; i < count; ++i) {
        rgap_exchange_start(&exchange, &key, &RULE, random_next(&net->seed));
        rgap_exchange_request(&exchange, 5, request);
        CHECK(rgap_responder_handle(&responder, request, WIRE_SIZE, &net->peer, local, &net->served,
                                    reply) == WIRE_SIZE);
        rgap_exchange_receive(&exchange, reply, WIRE_SIZE, &stamp);
        rgap_exchange_request(&exchange, 6, request);
        if (rgap_responder_handle(&responder, request, WIRE_SIZE, &net->peer, local, &net->served,
                                  reply) > 0) {
            rgap_responder_sent(&responder, local);
        }
    }
}

static void many_clients_are_served_and_too_many_turned_away(void) {
    struct network net = fresh_network(7);
    open_sessions(&net, 1000, 5000000000U);
    CHECK(responder.counts.busy == 0);
    open_sessions(&net, 20000, 5000000000U);
    CHECK(responder.counts.busy > 1000);
    /* Places become free again. */
    uint64_t busy = responder.counts.busy;
    open_sessions(&net, 1000, 50000000000U);
    CHECK(responder.counts.busy == busy);
}

static void a_restart_during_the_look_is_noticed(void) {
    struct network net = fresh_network(8);
    static struct exchange exchange;
    rgap_exchange_start(&exchange, &key, &RULE, 3);
    struct stamp stamp = {1, 0, 1};
    uint8_t request[WIRE_SIZE], reply[WIRE_SIZE];
    for (int i = 0; i < 3; ++i) {
        net.served.timeline = i < 2 ? 99 : 100;
        rgap_exchange_request(&exchange, 5, request);
        CHECK(rgap_responder_handle(&responder, request, WIRE_SIZE, &net.peer, 1, &net.served,
                                    reply) == WIRE_SIZE);
        rgap_responder_sent(&responder, 1);
        CHECK(rgap_exchange_receive(&exchange, reply, WIRE_SIZE, &stamp) ==
              (i < 2 ? EXCHANGE_ANSWERED : EXCHANGE_OTHER_TIMELINE));
    }
}

int main(void) {
    RUN(finds_the_offset);
    RUN(survives_loss_duplicates_and_late_arrivals);
    RUN(a_dead_server_gives_no_result);
    RUN(begins_anew_where_the_session_is_unknown);
    RUN(another_key_gives_no_result);
    RUN(replays_are_dropped_at_once_and_later);
    RUN(requests_cannot_be_reflected);
    RUN(an_answer_needs_the_nonce);
    RUN(many_clients_are_served_and_too_many_turned_away);
    RUN(a_restart_during_the_look_is_noticed);
    return 0;
}

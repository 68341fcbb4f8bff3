#include "exchange.h"

#include <string.h>

void rgap_exchange_start(struct exchange* exchange, const struct hmac_key* key,
                         const struct filter_rule* rule, uint64_t session) {
    memset(exchange, 0, sizeof(*exchange));
    exchange->key = key;
    exchange->session = session;
    rgap_filter_start(&exchange->filter, rule);
}

void rgap_exchange_request(struct exchange* exchange, uint64_t nonce, uint8_t out[WIRE_SIZE]) {
    struct message message;
    memset(&message, 0, sizeof(message));
    exchange->sequence += 1;
    exchange->nonce = nonce;
    exchange->waiting = 1;
    message.type = exchange->welcome ? WIRE_ASK : WIRE_HELLO;
    message.session = exchange->session;
    message.sequence = exchange->sequence;
    message.cookie = exchange->cookie;
    message.level = exchange->same_core != 0;
    message.nonce = nonce;
    rgap_wire_seal(exchange->key, &message, out);
}

void rgap_exchange_sent(struct exchange* exchange, const struct stamp* t1) { exchange->t1 = *t1; }

/* The server may have had no place for the session, or been restarted since the cookie: after so
 * many losses a new session is started. */
enum { LOSSES_TO_BEGIN_ANEW = 3 };

void rgap_exchange_lost(struct exchange* exchange) {
    exchange->waiting = 0;
    exchange->counts.lost += 1;
    exchange->losses_in_a_row += 1;
    if (exchange->welcome && exchange->losses_in_a_row % LOSSES_TO_BEGIN_ANEW == 0) {
        exchange->welcome = 0;
        exchange->cookie = 0;
        exchange->session = exchange->session * 6364136223846793005U + exchange->nonce;
        exchange->last.sequence = 0;
    }
}

static int is_awaited(const struct exchange* exchange, const struct message* message) {
    return exchange->waiting && message->type == (exchange->welcome ? WIRE_TELL : WIRE_WELCOME) &&
           message->session == exchange->session && message->sequence == exchange->sequence &&
           message->nonce == exchange->nonce;
}

/* Completes the sample of the exchange before: its fourth stamp comes with this message. */
static int complete(struct exchange* exchange, const struct message* message) {
    const struct open_exchange* last = &exchange->last;
    if (last->sequence == 0 || message->previous != last->sequence) {
        return 0;
    }
    struct sample sample = {last->t1.ns, last->t2, message->t3, last->t4.ns,
                            last->t1.error_ns + last->t4.error_ns + EXCHANGE_STAMP_ERROR_NS};
    exchange->kernel_stamped += last->t1.by_kernel && last->t4.by_kernel;
    return rgap_filter_add(&exchange->filter, &sample);
}

enum exchange_event rgap_exchange_receive(struct exchange* exchange, const uint8_t* data,
                                          size_t length, const struct stamp* t4) {
    struct message message;
    switch (rgap_wire_open(exchange->key, data, length, &message)) {
        case WIRE_MALFORMED:
            exchange->counts.malformed += 1;
            return EXCHANGE_IGNORED;
        case WIRE_FOREIGN:
            exchange->counts.foreign += 1;
            return EXCHANGE_IGNORED;
        case WIRE_OK:
            break;
    }
    if (!is_awaited(exchange, &message)) {
        exchange->counts.unexpected += 1;
        return EXCHANGE_IGNORED;
    }
    exchange->waiting = 0;
    exchange->counts.answered += 1;
    exchange->losses_in_a_row = 0;
    int is_first = !exchange->welcome && exchange->filter.seen == 0;
    if (!is_first && (message.timeline != exchange->server.timeline ||
                      message.revision != exchange->server.revision)) {
        return EXCHANGE_OTHER_TIMELINE;
    }
    exchange->server = message;
    if (!exchange->welcome) {
        exchange->welcome = 1;
        exchange->cookie = message.cookie;
        return EXCHANGE_ANSWERED;
    }
    int done = complete(exchange, &message);
    struct open_exchange open = {message.sequence, exchange->t1, message.t2, *t4};
    exchange->last = open;
    return done ? EXCHANGE_FINISHED : EXCHANGE_ANSWERED;
}

int rgap_exchange_finish(const struct exchange* exchange, struct look* out) {
    memset(out, 0, sizeof(*out));
    out->server_bound_ns = exchange->server.bound_ns;
    out->server_rate_doubt_ppb = exchange->server.rate_doubt_ppb;
    out->revision = exchange->server.revision;
    out->timeline = exchange->server.timeline;
    out->level = exchange->server.level;
    return rgap_filter_finish(&exchange->filter, &out->estimate);
}

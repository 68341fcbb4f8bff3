#include "responder.h"

#include <string.h>

/* A cookie is valid in the second in which it was made and in the next one. A place may be
 * reused when its session's cookie no longer opens a new session. */
static const uint64_t COOKIE_NS = 1000000000;
static const uint64_t IDLE_NS = 3000000000;

void rgap_responder_start(struct responder* responder, const void* key, size_t key_length,
                          const uint8_t secret[SHA256_DIGEST]) {
    memset(responder, 0, sizeof(*responder));
    rgap_hmac_prepare(&responder->key, key, key_length);
    rgap_hmac_prepare(&responder->secret, secret, SHA256_DIGEST);
}

static uint64_t make_cookie(const struct responder* responder, uint64_t session,
                            const struct peer* peer, uint64_t epoch) {
    uint8_t text[16 + PEER_SIZE], digest[SHA256_DIGEST];
    memcpy(text, &session, 8);
    memcpy(text + 8, &epoch, 8);
    memcpy(text + 16, peer->bytes, PEER_SIZE);
    rgap_hmac(&responder->secret, text, sizeof(text), digest);
    uint64_t cookie;
    memcpy(&cookie, digest, 8);
    return cookie;
}

static int is_good_cookie(const struct responder* responder, const struct message* message,
                          const struct peer* peer, uint64_t local_ns) {
    uint64_t epoch = local_ns / COOKIE_NS;
    return message->cookie == make_cookie(responder, message->session, peer, epoch) ||
           message->cookie == make_cookie(responder, message->session, peer, epoch - 1);
}

/* The session's place, or a free one in the same bucket, or NULL. */
static struct session* find_place(struct responder* responder, const struct message* message,
                                  const struct peer* peer, uint64_t local_ns) {
    struct session* bucket = responder->sessions[message->session % RESPONDER_BUCKETS];
    struct session* free_place = NULL;
    for (int i = 0; i < RESPONDER_WAYS; ++i) {
        struct session* place = &bucket[i];
        if (place->used_ns != 0 && place->id == message->session &&
            place->cookie == message->cookie &&
            memcmp(place->peer.bytes, peer->bytes, PEER_SIZE) == 0) {
            return place;
        }
        if (place->used_ns == 0 || local_ns - place->used_ns > IDLE_NS) {
            free_place = free_place == NULL ? place : free_place;
        }
    }
    return free_place;
}

/* Marks the sequence as seen; returns 0 if it was seen before, or is too old to tell. */
static int first_sight(struct session* session, uint32_t sequence) {
    if (sequence > session->highest) {
        uint32_t ahead = sequence - session->highest;
        session->window = ahead < 64 ? session->window << ahead : 0;
        session->window |= 1;
        session->highest = sequence;
        return 1;
    }
    uint32_t behind = session->highest - sequence;
    if (behind >= 64 || (session->window >> behind & 1)) {
        return 0;
    }
    session->window |= (uint64_t)1 << behind;
    return 1;
}

/* The session that asks; NULL, and counted why, if its message is not to be answered. */
static struct session* claim_session(struct responder* responder, const struct message* message,
                                     const struct peer* peer, uint64_t local_ns) {
    struct session* place = find_place(responder, message, peer, local_ns);
    int known = place != NULL && place->used_ns != 0 && place->id == message->session &&
                place->cookie == message->cookie;
    if (!known) {
        if (!is_good_cookie(responder, message, peer, local_ns)) {
            responder->counts.foreign += 1;
            return NULL;
        }
        if (place == NULL) {
            responder->counts.busy += 1;
            return NULL;
        }
        memset(place, 0, sizeof(*place));
        place->id = message->session;
        place->cookie = message->cookie;
        place->peer = *peer;
    }
    if (!first_sight(place, message->sequence)) {
        responder->counts.replayed += 1;
        return NULL;
    }
    place->used_ns = local_ns;
    return place;
}

static void describe(struct message* reply, const struct server_time* time) {
    reply->t2 = time->t2;
    reply->bound_ns = time->bound_ns;
    reply->timeline = time->timeline;
    reply->rate_doubt_ppb = time->rate_doubt_ppb;
    reply->revision = time->revision;
    reply->level = time->level;
}

static size_t seal(struct responder* responder, struct message* reply, enum wire_type type,
                   const struct server_time* time, uint8_t out[WIRE_SIZE]) {
    reply->type = (uint8_t)type;
    describe(reply, time);
    rgap_wire_seal(&responder->key, reply, out);
    responder->counts.answered += 1;
    return WIRE_SIZE;
}

size_t rgap_responder_handle(struct responder* responder, const uint8_t* data, size_t length,
                             const struct peer* peer, uint64_t local_ns,
                             const struct server_time* time, uint8_t out[WIRE_SIZE]) {
    struct message message;
    responder->answered = NULL;
    responder->same_core = 0;
    enum wire_verdict verdict = rgap_wire_open(&responder->key, data, length, &message);
    if (verdict == WIRE_MALFORMED ||
        (verdict == WIRE_OK && message.type != WIRE_HELLO && message.type != WIRE_ASK)) {
        responder->counts.malformed += 1;
        return 0;
    }
    if (verdict == WIRE_FOREIGN) {
        responder->counts.foreign += 1;
        return 0;
    }
    struct message reply;
    memset(&reply, 0, sizeof(reply));
    reply.session = message.session;
    reply.sequence = message.sequence;
    reply.nonce = message.nonce;
    if (message.type == WIRE_HELLO) {
        reply.cookie = make_cookie(responder, message.session, peer, local_ns / COOKIE_NS);
        return seal(responder, &reply, WIRE_WELCOME, time, out);
    }
    struct session* session = claim_session(responder, &message, peer, local_ns);
    if (session == NULL) {
        return 0;
    }
    responder->same_core = message.level == 1;
    reply.cookie = message.cookie;
    reply.previous = session->replied;
    reply.t3 = session->t3;
    session->replied = 0;
    responder->answered = session;
    responder->answered_sequence = message.sequence;
    return seal(responder, &reply, WIRE_TELL, time, out);
}

void rgap_responder_sent(struct responder* responder, uint64_t t3) {
    struct session* session = responder->answered;
    if (session != NULL) {
        session->replied = responder->answered_sequence;
        session->t3 = t3;
        responder->answered = NULL;
    }
}

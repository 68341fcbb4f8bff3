/* The server's side, without any socket or clock.
 *
 * A session starts with a cookie that the server can recompute from its own secret, the client's
 * address and the second; only a request that brings it back takes up a place. So a recorded
 * session can be replayed neither later (the cookie is too old) nor at once (the sequence window),
 * and an attacker who cannot read what is sent to an address cannot take up places in its name. */
#ifndef AFERIR_CLOCK_RESPONDER_H
#define AFERIR_CLOCK_RESPONDER_H

#include "wire.h"

enum { RESPONDER_BUCKETS = 1024, RESPONDER_WAYS = 8, PEER_SIZE = 18 };

/* Address and port of a client, as bytes. */
struct peer {
    uint8_t bytes[PEER_SIZE];
};

struct session {
    uint64_t id;
    uint64_t cookie;
    uint64_t used_ns; /* local time of the last request; 0: free */
    uint64_t t3;      /* of the last reply */
    uint64_t window;  /* bit n: sequence highest - n has been seen */
    uint32_t highest;
    uint32_t replied; /* sequence of the last reply; 0: none with a stamp */
    struct peer peer;
};

struct responder_counts {
    uint64_t answered;
    uint64_t malformed;
    uint64_t foreign;
    uint64_t replayed;
    uint64_t busy;
};

/* The server's own time at a request. */
struct server_time {
    uint64_t t2;
    uint64_t bound_ns;
    uint64_t timeline;
    uint32_t rate_doubt_ppb;
    uint32_t revision;
    uint8_t level;
};

struct responder {
    struct hmac_key key;
    struct hmac_key secret;
    struct responder_counts counts;
    struct session* answered; /* session whose reply is being sent */
    uint32_t answered_sequence;
    int same_core; /* the client says that it runs on this very core */
    struct session sessions[RESPONDER_BUCKETS][RESPONDER_WAYS];
};

/* `secret` must be random, and must not leave the server. */
void rgap_responder_start(struct responder* responder, const void* key, size_t key_length,
                          const uint8_t secret[SHA256_DIGEST]);
/* Handles a datagram. Returns the length of the reply: WIRE_SIZE, or 0 for none. `local_ns` must
   only increase steadily. */
size_t rgap_responder_handle(struct responder* responder, const uint8_t* data, size_t length,
                             const struct peer* peer, uint64_t local_ns,
                             const struct server_time* time, uint8_t out[WIRE_SIZE]);
/* Records that the reply left at `t3`. */
void rgap_responder_sent(struct responder* responder, uint64_t t3);

#endif

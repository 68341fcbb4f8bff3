/* The one datagram of RGAP: requests and replies have the same size, so that a server amplifies
 * nothing, and both ways take equally long on the wire. Numbers are big-endian.
 *
 *    0  "RGAP"        4  version   5  type   6  level   7  zero
 *    8  session      16  sequence 20  sequence that t3 belongs to
 *   24  cookie       32  t2       40  t3 of an earlier reply
 *   48  bound        56  timeline 64  rate doubt (ppb)  68  revision
 *   72  nonce        80  tag: HMAC-SHA-256 of all before, cut to 128 bits (RFC 2104, section 5) */
#ifndef AFERIR_CLOCK_WIRE_H
#define AFERIR_CLOCK_WIRE_H

#include "hmac.h"

enum { WIRE_SIZE = 96, WIRE_TAG_AT = 80, WIRE_TAG = 16, WIRE_VERSION = 1 };

enum wire_type {
    WIRE_HELLO = 1,   /* client: requests a session */
    WIRE_WELCOME = 2, /* server: sends a cookie */
    WIRE_ASK = 3,     /* client: requests the time */
    WIRE_TELL = 4     /* server: when this request arrived, and when its previous reply left */
};

enum wire_verdict { WIRE_OK, WIRE_MALFORMED, WIRE_FOREIGN };

struct message {
    uint8_t type;
    uint8_t level; /* of the server: 0 is the reference; of a client: 1 if on the server's core */
    uint64_t session;
    uint32_t sequence;
    uint32_t previous; /* the exchange whose reply left at t3; 0: none */
    uint64_t cookie;
    uint64_t t2;
    uint64_t t3;
    uint64_t bound_ns;
    uint64_t timeline;
    uint32_t rate_doubt_ppb;
    uint32_t revision; /* changes whenever the server's time is set anew */
    uint64_t nonce;
};

/* Checks the form only. Pure; reads no byte beyond `length`. */
enum wire_verdict rgap_wire_parse(const uint8_t* data, size_t length, struct message* out);
/* Checks form and key. */
enum wire_verdict rgap_wire_open(const struct hmac_key* key, const uint8_t* data, size_t length,
                                 struct message* out);
void rgap_wire_seal(const struct hmac_key* key, const struct message* message,
                    uint8_t out[WIRE_SIZE]);

#endif

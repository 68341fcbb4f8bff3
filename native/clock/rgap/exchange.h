/* The client's side of one look, without any socket or clock: datagrams and stamps in, datagrams
 * and a result out. So the same code runs on a simulated network.
 *
 * A stamp of a departing datagram is only known when it has gone, too late to be inside it. The
 * server therefore tells it in its next reply, as NTP's interleaved mode does (RFC 9769), and no
 * hashing lies between a stamp and the wire on either side. */
#ifndef AFERIR_CLOCK_EXCHANGE_H
#define AFERIR_CLOCK_EXCHANGE_H

#include "bound.h"
#include "wire.h"

/* Largest error of a time stamp that makes a way seem shorter than it is. A server cannot state
 * the error of each of its stamps, so all ends must keep to this limit. */
enum { EXCHANGE_STAMP_ERROR_NS = 120 };

struct exchange_counts {
    uint64_t answered;
    uint64_t lost;
    uint64_t malformed;
    uint64_t foreign;
    uint64_t unexpected;
};

struct stamp {
    uint64_t ns;
    uint32_t error_ns;
    uint32_t by_kernel;
};

/* The client's three stamps of one exchange, until the fourth one arrives. */
struct open_exchange {
    uint32_t sequence; /* 0: none */
    struct stamp t1;
    uint64_t t2;
    struct stamp t4;
};

struct exchange {
    const struct hmac_key* key;
    struct filter filter;
    uint64_t session;
    uint64_t cookie;
    uint64_t nonce;
    uint32_t sequence; /* of the current request */
    int welcome;       /* whether the server has sent a cookie */
    int waiting;
    int same_core; /* whether to tell the server that the client runs on its core */
    struct stamp t1;
    struct open_exchange last;
    struct message server; /* the latest reply */
    uint32_t losses_in_a_row;
    uint32_t kernel_stamped;
    struct exchange_counts counts;
};

enum exchange_event {
    EXCHANGE_IGNORED,  /* dropped and counted; go on waiting */
    EXCHANGE_ANSWERED, /* send the next request */
    EXCHANGE_FINISHED,
    EXCHANGE_OTHER_TIMELINE /* the server's time was set anew during the look */
};

/* `session` must be random. */
void rgap_exchange_start(struct exchange* exchange, const struct hmac_key* key,
                         const struct filter_rule* rule, uint64_t session);
/* Writes the next request to send; `nonce` must be random. */
void rgap_exchange_request(struct exchange* exchange, uint64_t nonce, uint8_t out[WIRE_SIZE]);
void rgap_exchange_sent(struct exchange* exchange, const struct stamp* t1);
enum exchange_event rgap_exchange_receive(struct exchange* exchange, const uint8_t* data,
                                          size_t length, const struct stamp* t4);
/* Records that no answer came in time. */
void rgap_exchange_lost(struct exchange* exchange);
/* Returns 0 if too few exchanges were answered for a result. */
int rgap_exchange_finish(const struct exchange* exchange, struct look* out);

#endif

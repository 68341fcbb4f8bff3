/* UDP with a time stamp for every datagram, on the local clock.
 *
 * The kernel stamps departing datagrams where they enter the driver and arriving ones where they
 * leave it (Linux, Documentation/networking/timestamping.rst). Between those two lies the wire
 * alone: no system call, no wake-up, no scheduler. On a veth pair this took the round trip from 6
 * to 0.45 microseconds and the error with it. Its stamps are in CLOCK_REALTIME, which may be
 * slewed or set, so each is moved at once to the local clock by its age, which is uncertain by the
 * slew, and believed only where it lies between the program's own stamps. */
#ifndef AFERIR_CLOCK_TRANSPORT_H
#define AFERIR_CLOCK_TRANSPORT_H

#include <sys/socket.h>

#include "aferir/rgap.h"
#include "exchange.h"

/* The local clock's bracket around a kernel's stamp is never wider than twice this. A server
 * uses no stamp that may be farther off, as it cannot report the error of each one. */
enum { TRANSPORT_STAMP_ERROR_NS = EXCHANGE_STAMP_ERROR_NS };

struct transport {
    int socket;
    struct rgap_source source;
    int user_stamps;        /* this program takes the stamps, so a wake-up would be included */
    int kernel_sends;       /* stamps of departure are requested */
    uint32_t most_error_ns; /* limit for a kernel's stamp; beyond it the program's own is used */
    uint32_t send_id;       /* the kernel's number of the next datagram */
    uint32_t misses;        /* consecutive stamps of departure that did not arrive */
};

/* Sender of a datagram, and the address of this machine that it was sent to: the answer must be
 * sent from that address, or the client's connected socket does not receive it. */
struct transport_address {
    struct sockaddr_storage storage;
    socklen_t length;
    int local_family;   /* AF_INET, AF_INET6; 0: the socket is bound to one address */
    uint8_t local[16];  /* in network order */
    unsigned interface; /* of a link-local address; else the routing table's to choose: 0 */
};

/* The two ways to open a transport; they return an rgap_status. A client's socket is connected,
 * so that the kernel drops datagrams from others. A server without an address is bound to all of
 * them, IPv4 and IPv6. */
int rgap_transport_connect(struct transport* transport, const char* address, uint16_t port,
                           const struct rgap_source* source, int user_stamps);
int rgap_transport_bind(struct transport* transport, const char* address, uint16_t port,
                        const struct rgap_source* source, int user_stamps, uint16_t* bound_port);
void rgap_transport_close(struct transport* transport);

/* Returns 1 if the datagram was sent. `to` is NULL on a connected socket. */
int rgap_transport_send(struct transport* transport, const uint8_t* data, size_t length,
                        const struct transport_address* to, struct stamp* departure);
/* Returns the length, or -1 with errno (EAGAIN: nothing has arrived). `from` may be NULL. */
int rgap_transport_receive(struct transport* transport, uint8_t* data, size_t size,
                           struct transport_address* from, struct stamp* arrival);

/* Returns whether to wait actively for the next datagram. That is useless if the other end must
 * run on this very core, as it may on loopback or a veth pair: each would keep the other from
 * answering until its time slice is over. For connected sockets only: the kernel knows it for no
 * others. */
int rgap_transport_may_spin(const struct transport* transport);

/* Empties the socket's error queue, which would keep poll() from sleeping. */
void rgap_transport_drain(struct transport* transport);

/* Places a kernel's stamp that is `age_ns` old between two readings of the local clock, unless
 * it contradicts `earliest` and `latest`; pure. Its error grows by 500 ns per millisecond of
 * age. */
int rgap_transport_place_stamp(uint64_t before, uint64_t after, int64_t age_ns, uint64_t earliest,
                               uint64_t latest, struct stamp* out);

#endif

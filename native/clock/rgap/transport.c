#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* This header uses struct timespec without declaring it. */
#include <linux/errqueue.h>

/* A wider bracket around CLOCK_REALTIME was interrupted and is repeated. */
enum { WIDE_BRACKET_NS = 150, BRACKET_TRIES = 3 };

/* CLOCK_REALTIME is slewed by at most one part in so many: 500 ppm (adjtimex(2)). */
enum { SLEW_PARTS = 2000 };

/* Departure stamps arrive while send() runs, or too late to wait for them. */
enum { ERROR_QUEUE_TRIES = 4, MISSES_TO_GIVE_UP = 16, STAMPING_TRIES = 100 };

enum {
    ARRIVALS = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE,
    DEPARTURES = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY |
        SOF_TIMESTAMPING_OPT_ID
};

static int set_stamps(struct transport* transport, int wanted) {
    return setsockopt(transport->socket, SOL_SOCKET, SO_TIMESTAMPING, &wanted, sizeof(wanted)) == 0;
}

static uint64_t now(const struct transport* transport) {
    return transport->source.now_ns(transport->source.context);
}

int rgap_transport_place_stamp(uint64_t before, uint64_t after, int64_t age_ns, uint64_t earliest,
                               uint64_t latest, struct stamp* out) {
    uint64_t middle = before + (after - before) / 2;
    uint64_t placed = middle - (uint64_t)age_ns;
    uint64_t error = (after - before) / 2 + 1;
    error += age_ns > 0 ? (uint64_t)age_ns / SLEW_PARTS : 0;
    if (error > UINT32_MAX || (int64_t)(placed + error - earliest) < 0 ||
        (int64_t)(latest + error - placed) < 0) {
        return 0;
    }
    out->ns = placed;
    out->error_ns = (uint32_t)error;
    out->by_kernel = 1;
    return 1;
}

static int place(const struct transport* transport, const struct timespec* stamp, uint64_t earliest,
                 uint64_t latest, struct stamp* out) {
    uint64_t before = 0, after = 0;
    struct timespec real;
    for (int i = 0; i < BRACKET_TRIES; ++i) {
        before = now(transport);
        clock_gettime(CLOCK_REALTIME, &real);
        after = now(transport);
        if (after - before <= WIDE_BRACKET_NS) {
            break;
        }
    }
    if (after - before > 2 * (uint64_t)TRANSPORT_STAMP_ERROR_NS) {
        return 0; /* the program's own stamp is later or earlier than the truth, but on the safe
                     side */
    }
    int64_t age =
        (int64_t)(real.tv_sec - stamp->tv_sec) * 1000000000 + real.tv_nsec - stamp->tv_nsec;
    struct stamp placed;
    if (!rgap_transport_place_stamp(before, after, age, earliest, latest, &placed) ||
        placed.error_ns > transport->most_error_ns) {
        return 0;
    }
    *out = placed;
    return 1;
}

static void note_local(struct transport_address* from, const struct cmsghdr* c) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo info;
        memcpy(&info, CMSG_DATA(c), sizeof(info));
        memcpy(from->local, &info.ipi_spec_dst, sizeof(info.ipi_spec_dst));
        from->local_family = AF_INET;
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo info;
        memcpy(&info, CMSG_DATA(c), sizeof(info));
        memcpy(from->local, &info.ipi6_addr, sizeof(info.ipi6_addr));
        from->interface = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr) ? info.ipi6_ifindex : 0;
        from->local_family = AF_INET6;
    }
}

/* musl's CMSG_NXTHDR adds a mask of a signed type. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
static struct cmsghdr* next_header(struct msghdr* message, struct cmsghdr* header) {
    return CMSG_NXTHDR(message, header);
}
#pragma GCC diagnostic pop

/* Reads one message from the socket or its error queue, with its stamp. */
static int read_message(int socket, int flags, struct iovec* iov, struct transport_address* from,
                        struct timespec* stamp, uint32_t* id) {
    _Alignas(struct cmsghdr) char control[512];
    struct msghdr message = {0};
    message.msg_iov = iov;
    message.msg_iovlen = iov != NULL ? 1 : 0;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (from != NULL) {
        from->local_family = 0;
        message.msg_name = &from->storage;
        message.msg_namelen = sizeof(from->storage);
    }
    int length = (int)recvmsg(socket, &message, flags | MSG_DONTWAIT);
    if (length < 0) {
        return length;
    }
    for (struct cmsghdr* c = CMSG_FIRSTHDR(&message); c != NULL; c = next_header(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING) {
            struct scm_timestamping stamps;
            memcpy(&stamps, CMSG_DATA(c), sizeof(stamps));
            *stamp = stamps.ts[0];
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err error;
            memcpy(&error, CMSG_DATA(c), sizeof(error));
            *id = error.ee_data;
        } else if (from != NULL) {
            note_local(from, c);
        }
    }
    if (from != NULL) {
        from->length = message.msg_namelen;
    }
    return length;
}

/* Returns the stamp of the datagram just sent; late ones of earlier datagrams are skipped. */
static int departure_stamp(struct transport* transport, uint64_t before, struct stamp* out) {
    uint32_t wanted = transport->send_id++;
    for (int i = 0; i < ERROR_QUEUE_TRIES; ++i) {
        struct timespec stamp = {0, 0};
        uint32_t id = wanted - 1;
        if (read_message(transport->socket, MSG_ERRQUEUE, NULL, NULL, &stamp, &id) < 0) {
            continue;
        }
        if (id == wanted && stamp.tv_sec != 0) {
            transport->misses = 0;
            return place(transport, &stamp, before, now(transport), out);
        }
    }
    transport->misses += 1;
    if (transport->misses >= MISSES_TO_GIVE_UP) {
        transport->kernel_sends = 0;
        set_stamps(transport, ARRIVALS);
    }
    return 0;
}

int rgap_transport_may_spin(const struct transport* transport) {
    int core = -1;
    socklen_t length = sizeof(core);
    /* The core that received the last datagram (socket(7)); on a virtual link, that of the
       sender. */
    if (transport->user_stamps ||
        getsockopt(transport->socket, SOL_SOCKET, SO_INCOMING_CPU, &core, &length) != 0) {
        return 1;
    }
    return core != sched_getcpu();
}

void rgap_transport_drain(struct transport* transport) {
    struct timespec stamp;
    uint32_t id;
    while (read_message(transport->socket, MSG_ERRQUEUE, NULL, NULL, &stamp, &id) >= 0) {
    }
}

/* Sets the source address of an answer, as ancillary data of its message (ip(7), ipv6(7)). */
static void set_local(struct msghdr* message, const struct transport_address* to) {
    struct in_pktinfo v4 = {0};
    struct in6_pktinfo v6 = {0};
    int is_v4 = to->local_family == AF_INET;
    memcpy(&v4.ipi_spec_dst, to->local, sizeof(v4.ipi_spec_dst));
    memcpy(&v6.ipi6_addr, to->local, sizeof(v6.ipi6_addr));
    v6.ipi6_ifindex = to->interface;
    size_t size = is_v4 ? sizeof(v4) : sizeof(v6);
    struct cmsghdr* c = message->msg_control;
    message->msg_controllen = (socklen_t)CMSG_SPACE(size); /* size_t in glibc, socklen_t in musl */
    c->cmsg_level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
    c->cmsg_type = is_v4 ? IP_PKTINFO : IPV6_PKTINFO;
    c->cmsg_len = (socklen_t)CMSG_LEN(size);
    memcpy(CMSG_DATA(c), is_v4 ? (const void*)&v4 : (const void*)&v6, size);
}

int rgap_transport_send(struct transport* transport, const uint8_t* data, size_t length,
                        const struct transport_address* to, struct stamp* departure) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = {0};
    struct iovec iov = {(void*)(uintptr_t)data, length};
    struct msghdr message = {0};
    message.msg_iov = &iov;
    message.msg_iovlen = 1;
    if (to != NULL) {
        message.msg_name = (void*)(uintptr_t)&to->storage;
        message.msg_namelen = to->length;
        if (to->local_family != 0) {
            message.msg_control = control;
            set_local(&message, to);
        }
    }
    struct stamp own = {now(transport), 0, 0};
    ssize_t sent = sendmsg(transport->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    *departure = own;
    if (sent == (ssize_t)length && transport->kernel_sends) {
        departure_stamp(transport, own.ns, departure);
    }
    return sent == (ssize_t)length;
}

int rgap_transport_receive(struct transport* transport, uint8_t* data, size_t size,
                           struct transport_address* from, struct stamp* arrival) {
    struct iovec iov = {data, size};
    struct timespec stamp = {0, 0};
    uint32_t unused;
    int length = read_message(transport->socket, 0, &iov, from, &stamp, &unused);
    if (length < 0) {
        return length;
    }
    struct stamp own = {now(transport), 0, 0};
    *arrival = own;
    if (stamp.tv_sec != 0) {
        /* The datagram may have been in the queue for any time. */
        place(transport, &stamp, own.ns - 1000000000U, own.ns, arrival);
    }
    return length;
}

/* Waits until the kernel stamps arrivals. It starts some time after the machine's first socket
 * requests it (net_enable_timestamp defers the work), and a look until then would mix two kinds
 * of stamps. */
static void await_stamping(void) {
    struct transport self = {0};
    struct sockaddr_in own = {0};
    socklen_t size = sizeof(own);
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    self.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ready = self.socket < 0 || !set_stamps(&self, ARRIVALS) ||
                bind(self.socket, (struct sockaddr*)&own, size) != 0 ||
                getsockname(self.socket, (struct sockaddr*)&own, &size) != 0 ||
                connect(self.socket, (struct sockaddr*)&own, size) != 0;
    for (int i = 0; i < STAMPING_TRIES && !ready; ++i) {
        char byte = 0;
        struct iovec iov = {&byte, 1};
        struct timespec stamp = {0, 0}, pause = {0, 200000};
        uint32_t unused;
        ready = send(self.socket, &byte, 1, MSG_DONTWAIT) != 1 ||
                read_message(self.socket, 0, &iov, NULL, &stamp, &unused) != 1 || stamp.tv_sec != 0;
        if (!ready) {
            nanosleep(&pause, NULL);
        }
    }
    if (self.socket >= 0) {
        close(self.socket);
    }
}

static void ask_for_stamps(struct transport* transport, int user_stamps) {
    transport->user_stamps = user_stamps || !set_stamps(transport, ARRIVALS | DEPARTURES);
    transport->kernel_sends = !transport->user_stamps;
    if (!transport->user_stamps) {
        await_stamping();
    }
}

typedef int (*attach_function)(int, const struct sockaddr*, socklen_t);

/* Binds to IPv6 and, mapped into it, IPv4 (ipv6(7)). */
static int bind_dual(int opened, const struct sockaddr* address, socklen_t length) {
    const int no = 0;
    return setsockopt(opened, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) == 0
               ? bind(opened, address, length)
               : -1;
}

static int open_socket(struct transport* transport, const char* address, uint16_t port,
                       const struct rgap_source* source, int flags, attach_function attach) {
    memset(transport, 0, sizeof(*transport));
    transport->socket = -1;
    transport->source = *source;
    struct addrinfo hints = {0}, *found = NULL;
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    char service[8];
    snprintf(service, sizeof(service), "%u", (unsigned)port);
    if (getaddrinfo(address, service, &hints, &found) != 0) {
        return RGAP_ERROR_ADDRESS;
    }
    for (struct addrinfo* at = found; at != NULL && transport->socket < 0; at = at->ai_next) {
        int opened = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (opened >= 0 && attach(opened, at->ai_addr, at->ai_addrlen) == 0) {
            transport->socket = opened;
        } else if (opened >= 0) {
            int error = errno;
            close(opened);
            errno = error;
        }
    }
    freeaddrinfo(found);
    return transport->socket < 0 ? RGAP_ERROR_SYSTEM : RGAP_OK;
}

int rgap_transport_connect(struct transport* transport, const char* address, uint16_t port,
                           const struct rgap_source* source, int user_stamps) {
    int status = open_socket(transport, address, port, source, 0, connect);
    transport->most_error_ns = UINT32_MAX;
    if (status == RGAP_OK) {
        ask_for_stamps(transport, user_stamps);
    }
    return status;
}

/* One socket for both families where the machine has IPv6. */
static int bind_to_all(struct transport* transport, uint16_t port,
                       const struct rgap_source* source) {
    int status = open_socket(transport, "::", port, source, AI_PASSIVE, bind_dual);
    if (status != RGAP_OK) {
        status = open_socket(transport, "0.0.0.0", port, source, AI_PASSIVE, bind);
    }
    return status;
}

static int is_every_address(const struct sockaddr_storage* bound) {
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    memcpy(&in, bound, sizeof(in));
    memcpy(&in6, bound, sizeof(in6));
    return bound->ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr)
                                        : in.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Requests the destination address of each datagram; for IPv4 also if the socket is IPv6. */
static void ask_for_local(const struct transport* transport) {
    const int yes = 1;
    setsockopt(transport->socket, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes));
    setsockopt(transport->socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof(yes));
}

int rgap_transport_bind(struct transport* transport, const char* address, uint16_t port,
                        const struct rgap_source* source, int user_stamps, uint16_t* bound_port) {
    int status = address == NULL ? bind_to_all(transport, port, source)
                                 : open_socket(transport, address, port, source, AI_PASSIVE, bind);
    if (status != RGAP_OK) {
        return status;
    }
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    char service[8] = "0";
    getsockname(transport->socket, (struct sockaddr*)&bound, &length);
    getnameinfo((struct sockaddr*)&bound, length, NULL, 0, service, sizeof(service),
                NI_NUMERICSERV | NI_DGRAM);
    unsigned number = 0;
    sscanf(service, "%u", &number);
    *bound_port = (uint16_t)number;
    if (is_every_address(&bound)) {
        ask_for_local(transport);
    }
    transport->most_error_ns = TRANSPORT_STAMP_ERROR_NS;
    ask_for_stamps(transport, user_stamps);
    return RGAP_OK;
}

void rgap_transport_close(struct transport* transport) {
    if (transport->socket >= 0) {
        close(transport->socket);
        transport->socket = -1;
    }
}

#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { RANDOM_STORE = 32 };

/* Active waiting saves the time of a wake-up and keeps it out of stamps that the program takes
 * itself; its duration is limited. */
enum { SPIN_NS = 100000, SAME_CORE_SPIN_NS = 40000, SAME_CORE_TRIES = 6, POLLS_PER_YIELD = 64 };

/* The path is unknown at first; later, a lost datagram may cost a few round trips. */
static const uint64_t FIRST_TIMEOUT_NS = 100000000;
static const uint64_t LEAST_TIMEOUT_NS = 2000000;

struct client {
    const struct look_order* order;
    struct transport transport;
    struct exchange exchange;
    uint64_t deadline;
    uint64_t slowest_ns; /* answer so far */
    uint64_t random[RANDOM_STORE];
    uint32_t random_left;
    uint32_t same_core; /* exchanges with a server on this core */
};

/* The deadline is by the kernel's clock, as the local one may be a simulated one. */
static uint64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* Takes the number from a store of random ones: a system call would take as long as half an
 * exchange. */
static int random_number(struct client* client, uint64_t* out) {
    if (client->random_left == 0) {
        if (getrandom(client->random, sizeof(client->random), 0) !=
            (ssize_t)sizeof(client->random)) {
            return 0;
        }
        client->random_left = RANDOM_STORE;
    }
    *out = client->random[--client->random_left];
    return 1;
}

static uint64_t timeout_ns(const struct client* client) {
    if (client->slowest_ns == 0) {
        return FIRST_TIMEOUT_NS;
    }
    uint64_t timeout = 4 * client->slowest_ns;
    return timeout > LEAST_TIMEOUT_NS ? timeout : LEAST_TIMEOUT_NS;
}

static void sleep_until_readable(struct client* client, uint64_t ns) {
    struct pollfd readable = {client->transport.socket, POLLIN, 0};
    struct timespec time = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
    if (ppoll(&readable, 1, &time, NULL) > 0 && (readable.revents & POLLERR)) {
        rgap_transport_drain(&client->transport);
    }
}

/* A client that spins on the server's own core keeps the server from answering. So the server is
 * asked to move to another core, a few times only: if there is a network card between the two, the
 * core reported is that of the card's interrupts. */
static uint64_t spin_time(struct client* client) {
    client->exchange.same_core = 0;
    if (rgap_transport_may_spin(&client->transport)) {
        return SPIN_NS;
    }
    client->same_core += 1;
    client->exchange.same_core = client->same_core <= SAME_CORE_TRIES;
    return client->same_core <= SAME_CORE_TRIES ? SAME_CORE_SPIN_NS : 0;
}

/* Waits for the answer to the current request. */
static enum exchange_event await_answer(struct client* client, uint64_t asked) {
    uint64_t until = asked + timeout_ns(client);
    until = until < client->deadline ? until : client->deadline;
    uint64_t spin = spin_time(client);
    for (uint32_t polls = 1;; ++polls) {
        uint8_t data[WIRE_SIZE + 1]; /* one more, to detect what is too long */
        struct stamp arrival;
        int length = rgap_transport_receive(&client->transport, data, sizeof(data), NULL, &arrival);
        if (length >= 0) {
            enum exchange_event event =
                rgap_exchange_receive(&client->exchange, data, (size_t)length, &arrival);
            if (event != EXCHANGE_IGNORED) {
                return event;
            }
            continue;
        }
        uint64_t now = monotonic_ns();
        if (now >= until || (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)) {
            rgap_exchange_lost(&client->exchange);
            return EXCHANGE_IGNORED;
        }
        if (now - asked >= spin) {
            sleep_until_readable(client, until - now);
        } else if (client->transport.user_stamps && polls % POLLS_PER_YIELD == 0) {
            sched_yield();
        }
    }
}

static int converse(struct client* client) {
    while (monotonic_ns() < client->deadline) {
        uint64_t nonce;
        uint8_t request[WIRE_SIZE];
        if (!random_number(client, &nonce)) {
            return RGAP_ERROR_SYSTEM;
        }
        rgap_exchange_request(&client->exchange, nonce, request);
        struct stamp departure;
        uint64_t asked = monotonic_ns();
        rgap_transport_send(&client->transport, request, sizeof(request), NULL, &departure);
        rgap_exchange_sent(&client->exchange, &departure);
        switch (await_answer(client, asked)) {
            case EXCHANGE_FINISHED:
                return RGAP_OK;
            case EXCHANGE_OTHER_TIMELINE:
                return RGAP_ERROR_OTHER_TIMELINE;
            case EXCHANGE_ANSWERED: {
                uint64_t took = monotonic_ns() - asked;
                client->slowest_ns = took > client->slowest_ns ? took : client->slowest_ns;
                break;
            }
            case EXCHANGE_IGNORED:
                break;
        }
    }
    /* Uses what has arrived by the deadline: the width of the interval shows how good it is. */
    return client->exchange.filter.kept > 0 ? RGAP_OK : RGAP_ERROR_NO_ANSWER;
}

/* Pins this thread during the look: a sleeping thread is woken on the core of the server's
 * thread, which then moves away, and so on. Returns 0 if that is not permitted. */
static int keep_still(cpu_set_t* before) {
    int core = sched_getcpu();
    if (core < 0 || core >= CPU_SETSIZE ||
        pthread_getaffinity_np(pthread_self(), sizeof(*before), before) != 0) {
        return 0;
    }
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)core, &here);
    return pthread_setaffinity_np(pthread_self(), sizeof(here), &here) == 0;
}

int rgap_client_look(const struct look_order* order, struct look* out, struct look_report* report) {
    struct client client;
    memset(report, 0, sizeof(*report));
    uint64_t session, start = monotonic_ns();
    int status = rgap_transport_connect(&client.transport, order->address, order->port,
                                        &order->source, order->user_stamps);
    if (status != RGAP_OK) {
        return status;
    }
    client.order = order;
    client.deadline =
        order->deadline_ns < UINT64_MAX - start ? start + order->deadline_ns : UINT64_MAX;
    client.slowest_ns = 0;
    client.random_left = 0;
    client.same_core = 0;
    status = random_number(&client, &session) ? RGAP_OK : RGAP_ERROR_SYSTEM;
    if (status == RGAP_OK) {
        rgap_exchange_start(&client.exchange, order->key, &order->rule, session);
        cpu_set_t before;
        int still = keep_still(&before);
        status = converse(&client);
        if (still) {
            pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
        }
        report->counts = client.exchange.counts;
        report->exchanges = client.exchange.sequence;
        report->kernel_stamped = client.exchange.kernel_stamped;
    }
    rgap_transport_close(&client.transport);
    report->duration_ns = monotonic_ns() - start;
    if (status == RGAP_OK && !rgap_exchange_finish(&client.exchange, out)) {
        status = RGAP_ERROR_NO_ANSWER;
    }
    return status;
}

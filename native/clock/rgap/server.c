/* The server: a thread that stamps a datagram, answers it and stamps the answer, one after the
 * other. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "responder.h"
#include "rgap_private.h"

enum { POLLS_PER_YIELD = 64 };
static const uint64_t SPIN_NS = 100000;
static const uint64_t SLICE_NS = 100000; /* the kernel's least */

struct rgap_server {
    struct transport transport;
    struct rgap* upstream;
    uint64_t timeline; /* of a reference node */
    uint64_t spin_ns;
    int cpu;
    cpu_set_t allowed; /* cores that the thread was started with */
    int stop_event;
    _Atomic int stopping;
    uint16_t port;
    pthread_t thread;
    int has_thread; /* not in the child of a fork, where the parent goes on serving */
    struct fork_member forks;
    pthread_mutex_t lock; /* for the counts */
    struct responder responder;
};

void rgap_server_config_init(struct rgap_server_config* config) {
    memset(config, 0, sizeof(*config));
    config->port = 3617;
    config->cpu = -1;
    config->spin_ns = SPIN_NS;
}

static uint64_t local_now(const struct rgap_server* server) {
    return server->transport.source.now_ns(server->transport.source.context);
}

/* Converts a local stamp to the served time. */
static struct server_time serve_time(struct rgap_server* server, uint64_t local_ns) {
    struct server_time time = {local_ns, 0, server->timeline, 0, 0, 0};
    if (server->upstream != NULL) {
        struct published now = rgap_published(server->upstream); /* first: see rgap_at */
        struct rgap_doubt local = rgap_doubt_of(server->upstream);
        rgap_model_read(&now.model, local_ns, &local, &time.t2, &time.bound_ns);
        double doubt = rgap_model_rate_doubt_ppb(&now.model, local_ns);
        time.rate_doubt_ppb = doubt < 4e9 ? (uint32_t)doubt + 1 : UINT32_MAX;
        time.revision = (uint32_t)now.revision;
        time.level = (uint8_t)now.level;
        time.timeline = now.timeline;
    }
    return time;
}

/* A client is identified by address and port only, without IPv6 scope and flow. */
static struct peer peer_of(const struct transport_address* address) {
    struct peer peer;
    memset(&peer, 0, sizeof(peer));
    if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, &address->storage, sizeof(in6));
        memcpy(peer.bytes, &in6.sin6_addr, 16);
        memcpy(peer.bytes + 16, &in6.sin6_port, 2);
    } else {
        struct sockaddr_in in;
        memcpy(&in, &address->storage, sizeof(in));
        memcpy(peer.bytes, &in.sin_addr, 4);
        memcpy(peer.bytes + 16, &in.sin_port, 2);
    }
    return peer;
}

/* Answers one datagram if one has arrived. */
static int serve_one(struct rgap_server* server) {
    uint8_t request[WIRE_SIZE + 1], reply[WIRE_SIZE];
    struct transport_address from;
    struct stamp arrival, departure;
    int length =
        rgap_transport_receive(&server->transport, request, sizeof(request), &from, &arrival);
    if (length < 0) {
        return 0;
    }
    struct peer peer = peer_of(&from);
    struct server_time time = serve_time(server, arrival.ns);
    pthread_mutex_lock(&server->lock);
    size_t answer = rgap_responder_handle(&server->responder, request, (size_t)length, &peer,
                                          local_now(server), &time, reply);
    pthread_mutex_unlock(&server->lock);
    if (answer > 0 && rgap_transport_send(&server->transport, reply, answer, &from, &departure)) {
        rgap_responder_sent(&server->responder, serve_time(server, departure.ns).t2);
    }
    return 1;
}

static void pin(const struct rgap_server* server) {
    if (server->cpu >= 0 && server->cpu < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)server->cpu, &set);
        pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    }
}

/* The fields of the kernel's struct sched_attr that are needed here; the C library has no call
   for it. */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

/* Requests short time slices: on a busy core a wake-up would otherwise wait until the running
 * thread's slice ends, 3 ms. From Linux 6.12 on, sched_runtime is the slice of an ordinary
 * thread; earlier kernels ignore it (Documentation/scheduler/sched-eevdf.rst). */
static void ask_for_short_slices(void) {
    struct scheduling own = {0};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) == 0 && own.policy == SCHED_OTHER) {
        own.size = sizeof(own);
        own.runtime = SLICE_NS;
        syscall(SYS_sched_setattr, 0, &own, 0);
    }
}

/* Moves this thread off the core that the client sends from: two ends that alternate on one core
 * need three times as long. Not if the caller has chosen a core. */
static int step_aside(const struct rgap_server* server) {
    cpu_set_t others = server->allowed;
    int core = sched_getcpu();
    if (server->cpu >= 0 || core < 0 || core >= CPU_SETSIZE) {
        return 0;
    }
    CPU_CLR((size_t)core, &others);
    return CPU_COUNT(&others) > 0 &&
           pthread_setaffinity_np(pthread_self(), sizeof(others), &others) == 0;
}

/* Waits actively after a datagram: a wake-up takes longer than a round trip. */
static void spin(struct rgap_server* server) {
    uint64_t last = local_now(server);
    int worthwhile = server->spin_ns > 0;
    for (uint32_t polls = 1; worthwhile && local_now(server) - last < server->spin_ns; ++polls) {
        if (serve_one(server)) {
            last = local_now(server);
            worthwhile = !server->responder.same_core || step_aside(server);
        } else if (server->transport.user_stamps && polls % POLLS_PER_YIELD == 0) {
            sched_yield();
        }
        worthwhile &= !atomic_load_explicit(&server->stopping, memory_order_relaxed);
    }
}

static void* serve(void* argument) {
    struct rgap_server* server = argument;
    struct pollfd events[2] = {{server->transport.socket, POLLIN, 0},
                               {server->stop_event, POLLIN, 0}};
    pin(server);
    ask_for_short_slices();
    pthread_getaffinity_np(pthread_self(), sizeof(server->allowed), &server->allowed);
    while (!atomic_load_explicit(&server->stopping, memory_order_relaxed)) {
        spin(server);
        poll(events, 2, -1);
        if (events[0].revents & POLLERR) {
            rgap_transport_drain(&server->transport);
        }
        if (events[0].revents & POLLIN) {
            serve_one(server); /* if spinning is off, all datagrams are answered here */
        }
    }
    return NULL;
}

static int prepare(struct rgap_server* server, const struct rgap_server_config* config) {
    uint8_t secret[SHA256_DIGEST];
    struct rgap_source source =
        config->upstream != NULL ? config->upstream->source : config->source;
    if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret) ||
        getrandom(&server->timeline, 8, 0) != 8) {
        return RGAP_ERROR_SYSTEM;
    }
    rgap_responder_start(&server->responder, config->key, config->key_length, secret);
    server->upstream = config->upstream;
    server->spin_ns = config->spin_ns;
    server->cpu = config->cpu;
    server->stop_event = eventfd(0, EFD_CLOEXEC);
    if (server->stop_event < 0) {
        return RGAP_ERROR_SYSTEM;
    }
    return rgap_transport_bind(&server->transport, config->address, config->port, &source,
                               config->user_stamps, &server->port);
}

static void dispose(struct rgap_server* server) {
    rgap_transport_close(&server->transport);
    if (server->stop_event >= 0) {
        close(server->stop_event);
    }
    pthread_mutex_destroy(&server->lock);
    free(server);
}

static void stay_in_parent(struct fork_member* member) {
    struct rgap_server* server =
        (struct rgap_server*)((char*)member - offsetof(struct rgap_server, forks));
    server->has_thread = 0;
}

int rgap_server_start(struct rgap_server** out, const struct rgap_server_config* config) {
    if (out == NULL || config == NULL || config->key == NULL || config->key_length < 16 ||
        (config->upstream == NULL && config->source.now_ns == NULL)) {
        return RGAP_ERROR_ARGUMENT;
    }
    *out = NULL;
    struct rgap_server* server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return RGAP_ERROR_MEMORY;
    }
    server->transport.socket = -1;
    server->stop_event = -1;
    pthread_mutex_init(&server->lock, NULL);
    int status = prepare(server, config);
    if (status == RGAP_OK) {
        server->has_thread = pthread_create(&server->thread, NULL, serve, server) == 0;
        status = server->has_thread ? RGAP_OK : RGAP_ERROR_SYSTEM;
    }
    if (status != RGAP_OK) {
        dispose(server);
        return status;
    }
    server->forks.lock = &server->lock;
    server->forks.in_child = stay_in_parent;
    rvec_forks_add(&server->forks);
    *out = server;
    return RGAP_OK;
}

void rgap_server_stop(struct rgap_server* server) {
    if (server == NULL) {
        return;
    }
    rvec_forks_remove(&server->forks);
    if (server->has_thread) {
        uint64_t one = 1;
        atomic_store(&server->stopping, 1);
        while (write(server->stop_event, &one, sizeof(one)) < 0 && errno == EINTR) {
        }
        pthread_join(server->thread, NULL);
    }
    dispose(server);
}

int rgap_server_info(struct rgap_server* server, struct rgap_server_facts* out) {
    if (server == NULL || out == NULL) {
        return RGAP_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&server->lock);
    const struct responder_counts* counts = &server->responder.counts;
    struct rgap_server_facts facts = {server->port,      server->timeline, counts->answered,
                                      counts->malformed, counts->foreign,  counts->replayed,
                                      counts->busy};
    pthread_mutex_unlock(&server->lock);
    if (server->upstream != NULL) {
        facts.timeline = rgap_published(server->upstream).timeline;
    }
    *out = facts;
    return RGAP_OK;
}

/* RGAP: one time for a cluster, set once and not resynchronised.
 *
 * A node exchanges a few dozen datagrams with a reference node, keeps the shortest ways, and from
 * then on computes global time from its own counter (Dutra 2015, section 6.2). What the thesis
 * leaves out is here too: a second look gives the difference of the two oscillators' rates, and
 * every reading comes with a bound of its error that grows with time.
 *
 *     struct rgap_config config;
 *     rgap_config_init(&config);
 *     config.address = "10.0.0.1";
 *     config.key = key, config.key_length = 32;
 *     struct rgap *clock;
 *     if (rgap_create(&clock, &config) != RGAP_OK) ...
 *     rgap_now(clock, &time_ns, &bound_ns);
 *
 * C11 and C++20. Guarantees, and what breaks them: docs/reference/clock.md. */
#ifndef AFERIR_RGAP_H
#define AFERIR_RGAP_H

#include <stddef.h>
#include <stdint.h>

#include "aferir/rvec.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum rgap_status {
    RGAP_OK = 0,
    RGAP_ERROR_ARGUMENT = -1,
    RGAP_ERROR_MEMORY = -2,
    RGAP_ERROR_SYSTEM = -3,        /* the operating system refused; errno says why */
    RGAP_ERROR_ADDRESS = -4,       /* no such address */
    RGAP_ERROR_NO_ANSWER = -5,     /* nobody with this key has answered in time */
    RGAP_ERROR_OTHER_TIMELINE = -6 /* the server has been restarted: its time is another one */
};

/* What the local clock admits to have done. */
struct rgap_doubt {
    uint64_t ns; /* sum of what folded jumps may have been misjudged by */
    double ppb;  /* sum of its changes of rate */
};

/* The local clock that global time is computed from. All functions may be called by any thread. */
struct rgap_source {
    void* context;
    uint64_t (*now_ns)(void* context);
    void (*doubt)(void* context, struct rgap_doubt* out); /* may be NULL: never any doubt */
};

/* The process clock of an open rvec, which must outlive its users. */
struct rgap_source rgap_source_rvec(struct rvec* rvec);

struct rgap_config {
    const char* address; /* IPv4, IPv6 or name */
    uint16_t port;
    const uint8_t* key; /* shared by server and clients, at least 16 bytes */
    size_t key_length;
    struct rgap_source source;
    uint32_t discard;        /* first exchanges not counted: D of Dutra 2015, 5 */
    uint32_t smallest;       /* round trips that the stop rule looks at: 20 */
    uint64_t spread_ns;      /* their standard deviation that is small enough: K, 500 ns */
    uint32_t min_exchanges;  /* counted ones, before the stop rule may hold: 20 */
    uint32_t max_exchanges;  /* however wide the spread: 10,000 */
    uint64_t deadline_ns;    /* for one look: 2 s */
    uint64_t second_look_ns; /* after the first, at least: 1 s */
    int background;          /* a thread takes the second look; else rgap_poll does */
    int user_stamps;         /* no time stamps by the kernel */
    double rate_limit_ppm;   /* two oscillators differ by at most: 250 */
    double wander_ppm;       /* and their difference strays by at most: 0.25 */
};

struct rgap_facts {
    int last_status;         /* of the last look */
    uint32_t looks;          /* that the present time rests on: 1 or 2 */
    uint32_t level;          /* steps from the reference node: 1 under it */
    uint64_t timeline;       /* identity of the reference's time */
    int64_t offset_ns;       /* global minus local time at the last look */
    double rate_ppm;         /* global against local time; 0 while not told from 0 */
    double rate_doubt_ppm;   /* half-width of the interval that holds it */
    uint64_t half_width_ns;  /* of the interval that held the offset at the last look */
    uint64_t min_rtt_ns;     /* of the last look, without the server's part */
    double spread_ns;        /* standard deviation of its smallest round trips */
    uint32_t exchanges;      /* of the last look, counted and not */
    uint32_t kernel_stamped; /* of them, with all four stamps by the kernels */
    uint64_t duration_ns;    /* of the last look */
    uint64_t lost;           /* requests without an answer, since rgap_create */
    uint64_t malformed;      /* datagrams dropped since then: not of the form */
    uint64_t foreign;        /* wrong key */
    uint64_t unexpected;     /* authentic, but late, duplicated or replayed */
};

struct rgap;

void rgap_config_init(struct rgap_config* config);

/* Takes the first look; RGAP_OK means that rgap_now works. */
int rgap_create(struct rgap** out, const struct rgap_config* config);
void rgap_destroy(struct rgap* clock);

/* Global time and the bound of its error, both in nanoseconds. No system call, no lock. */
int rgap_now(struct rgap* clock, uint64_t* time_ns, uint64_t* bound_ns);
/* The same for a reading of the local clock. */
int rgap_at(struct rgap* clock, uint64_t local_ns, uint64_t* time_ns, uint64_t* bound_ns);

/* Takes the second look if it is due; otherwise returns at once. */
int rgap_poll(struct rgap* clock);
/* Takes another look now. The rate is the better the more time lies between the looks. */
int rgap_look(struct rgap* clock);

int rgap_info(struct rgap* clock, struct rgap_facts* out);
const char* rgap_strerror(int status);

struct rgap_server_config {
    const char* address; /* to bind to; NULL: every one */
    uint16_t port;       /* 0: any free one */
    const uint8_t* key;
    size_t key_length;
    struct rgap_source source; /* the reference's own clock ... */
    struct rgap* upstream;     /* ... or, for a node of a tree, its global clock */
    int cpu;                   /* to pin the thread to; -1: none */
    uint64_t spin_ns;          /* wait actively so long after a datagram: 100 us */
    int user_stamps;
};

struct rgap_server_facts {
    uint16_t port;
    uint64_t timeline;
    uint64_t answered;
    uint64_t malformed;
    uint64_t foreign; /* wrong key, or a cookie that is not ours or too old */
    uint64_t replayed;
    uint64_t busy; /* new sessions turned away because all places were taken */
};

struct rgap_server;

void rgap_server_config_init(struct rgap_server_config* config);
/* Serves in a thread of its own until stopped. */
int rgap_server_start(struct rgap_server** out, const struct rgap_server_config* config);
void rgap_server_stop(struct rgap_server* server);
int rgap_server_info(struct rgap_server* server, struct rgap_server_facts* out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif

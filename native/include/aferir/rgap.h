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
    RGAP_ERROR_ADDRESS = -4,       /* the address does not exist */
    RGAP_ERROR_NO_ANSWER = -5,     /* no server with this key answered in time */
    RGAP_ERROR_OTHER_TIMELINE = -6 /* the server was restarted: its time is a different one */
};

/* Errors that the local clock reports of itself, as sums since its start. */
struct rgap_doubt {
    uint64_t ns; /* largest error of all jumps that it has corrected */
    double ppb;  /* all its changes of rate */
};

/* The local clock that global time is computed from. All functions may be called by any thread. */
struct rgap_source {
    void* context;
    uint64_t (*now_ns)(void* context);
    void (*doubt)(void* context, struct rgap_doubt* out); /* may be NULL: no errors */
};

/* The process clock of an open rvec, which must outlive its users. */
struct rgap_source rgap_source_rvec(struct rvec* rvec);

struct rgap_config {
    const char* address; /* IPv4, IPv6 or name */
    uint16_t port;
    const uint8_t* key; /* shared by server and clients, at least 16 bytes */
    size_t key_length;
    struct rgap_source source;
    uint32_t discard;        /* first exchanges to ignore: D of Dutra 2015; default 5 */
    uint32_t smallest;       /* round trips that the stop rule compares; default 20 */
    uint64_t spread_ns;      /* their standard deviation at which it stops: K; default 500 ns */
    uint32_t min_exchanges;  /* exchanges before the stop rule applies; default 20 */
    uint32_t max_exchanges;  /* exchanges after which a look ends in any case; default 10,000 */
    uint64_t deadline_ns;    /* time limit of one look; default 2 s */
    uint64_t second_look_ns; /* shortest time from the first look to the second; default 1 s */
    int background;          /* a thread takes the second look; else rgap_poll does */
    int user_stamps;         /* use no time stamps of the kernel */
    double rate_limit_ppm;   /* largest difference of two oscillators' rates; default 250 */
    double wander_ppm;       /* largest change of that difference; default 0.25 */
};

struct rgap_facts {
    int last_status;         /* rgap_status of the last look */
    uint32_t looks;          /* number of looks behind the current time: 1 or 2 */
    uint32_t level;          /* steps from the reference node: 1 directly below it */
    uint64_t timeline;       /* identity of the reference's time */
    int64_t offset_ns;       /* global minus local time at the last look */
    double rate_ppm;         /* global against local time; 0 if not distinguishable from 0 */
    double rate_doubt_ppm;   /* half-width of the interval that contains the rate */
    uint64_t half_width_ns;  /* half of the interval that contained the offset at the last look */
    uint64_t min_rtt_ns;     /* shortest round trip of the last look, without the server's part */
    double spread_ns;        /* standard deviation of its smallest round trips */
    uint32_t exchanges;      /* exchanges of the last look, ignored ones included */
    uint32_t kernel_stamped; /* those of them whose four stamps are all the kernels' */
    uint64_t duration_ns;    /* duration of the last look */
    uint64_t lost;           /* requests without an answer, since rgap_create */
    uint64_t malformed;      /* dropped datagrams without the right form */
    uint64_t foreign;        /* dropped datagrams with a wrong key */
    uint64_t unexpected;     /* dropped datagrams that are authentic, but late or repeated */
};

struct rgap;

void rgap_config_init(struct rgap_config* config);

/* Creates a clock and takes the first look; RGAP_OK means that rgap_now works. */
int rgap_create(struct rgap** out, const struct rgap_config* config);
void rgap_destroy(struct rgap* clock);

/* Global time and the bound of its error, both in nanoseconds. No system call, no lock. */
int rgap_now(struct rgap* clock, uint64_t* time_ns, uint64_t* bound_ns);
/* As rgap_now, for a given reading of the local clock. */
int rgap_at(struct rgap* clock, uint64_t local_ns, uint64_t* time_ns, uint64_t* bound_ns);

/* Takes the second look if it is due; otherwise returns at once. */
int rgap_poll(struct rgap* clock);
/* Takes another look now. The more time between two looks, the more accurate is the rate. */
int rgap_look(struct rgap* clock);

int rgap_info(struct rgap* clock, struct rgap_facts* out);
const char* rgap_strerror(int status);

struct rgap_server_config {
    const char* address; /* address to bind to; NULL: all of this machine */
    uint16_t port;       /* 0: any free port */
    const uint8_t* key;
    size_t key_length;
    struct rgap_source source; /* the reference's own clock ... */
    struct rgap* upstream;     /* ... or, for a node of a tree, its global clock */
    int cpu;                   /* core to pin the thread to; -1: none */
    uint64_t spin_ns;          /* active waiting after each datagram; default 100 us */
    int user_stamps;
};

struct rgap_server_facts {
    uint16_t port;
    uint64_t timeline;
    uint64_t answered;
    uint64_t malformed;
    uint64_t foreign; /* datagrams with a wrong key, or a foreign or expired cookie */
    uint64_t replayed;
    uint64_t busy; /* sessions refused because all places were taken */
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

/* The studies of aferir's clocks (Dutra 2015, chapter 7 and appendix A), one function each. */
#ifndef AFERIR_CLOCK_STUDY_H
#define AFERIR_CLOCK_STUDY_H

#include <stdint.h>

#include "aferir/rvec.h"
#include "cores.h"
#include "output.h"

struct rgap_server;

enum movement { MOVEMENT_PINNED, MOVEMENT_MIGRATED, MOVEMENT_HANDED_OVER, MOVEMENT_PLUGGED };

struct study_options {
    uint32_t runs;   /* ecp: of each clock; cost: interleaved rounds; rate: changes */
    uint32_t blocks; /* ecp: matrix blocks of a run, with one reading each */
    enum movement movement;
    double seconds;    /* stability, order: to follow the clocks for; rule: longest look */
    double interval_s; /* ntp, order: between two queries; stability: between two comparisons;
                          rate: between two changes */
    double rate_ppm;   /* ntp, order: injected into the client's clock */
    double offset_s;
    uint32_t queries;  /* ntp */
    uint32_t messages; /* order; by twos, there and back */
    int slew;          /* ntp, order: correct at 500 ppm rather than at once */
    int own_server;    /* ntp: answer ourselves rather than start chronyd */
    uint32_t quanta;   /* noise */
    double quantum_s;
    double noise_period_s; /* noise: period of the planted disturbance; 0: none */
    double noise_busy_s;
    uint32_t discard;    /* rule: D, number of first exchanges that are not counted */
    double deviation_s;  /* rule: K, spread of the smallest round trips below which a look ends */
    uint32_t clients;    /* rule: number of the server's clients, each on a host of its own */
    int user_stamps;     /* rule: the programs take the time stamps rather than the kernel */
    const char* address; /* rule-server, rule-client: of the server's host */
    uint32_t port;       /* rule-client: of the server; the next one is for stamped messages */
    double ratio;        /* rate: of the counter's second rate to its first */
    int realtime;        /* noise: at a real-time priority, where only such others disturb */
};

/* Arguments of every study. */
struct study {
    struct rvec* rvec;
    struct cores cores;
    const struct study_options* options;
    struct output* output;
    double duration_s; /* figure to compare environments by; 0: the time that the study took */
    const char* error; /* why the study failed */
};

enum study_status {
    STUDY_OK = 0,
    STUDY_IMPOSSIBLE = 1, /* not possible on this machine or in this environment */
    STUDY_UNVERIFIED = 2  /* its own arithmetic gave a wrong result */
};

int study_ecp(struct study* study);
int study_cost(struct study* study);
int study_stability(struct study* study);
int study_ntp(struct study* study);
int study_order(struct study* study);
int study_noise(struct study* study);
int study_rule(struct study* study);
int study_rate(struct study* study);
/* The server of RGAP whose clients look, where the calling thread is; at the address of the options
 * if they name one. NULL: it could not be started. */
struct rgap_server* study_rule_start_server(struct study* study, uint16_t* port);

/* The study `rule` on hosts that are machines: see rule_hosts.c. */
int study_rule_server(struct study* study);
int study_rule_client(struct study* study);

#endif

/* SNTP over UDP: a server of any clock, a client, and the real chronyd as a server. */
#ifndef AFERIR_CLOCK_SNTP_H
#define AFERIR_CLOCK_SNTP_H

#include <sys/types.h>

#include "aferir/rgap.h"
#include "ntp_packet.h"

struct sntp_server;

/* Starts a thread that answers on port 123 of the calling thread's network namespace, with the
 * time of `clock` (nanoseconds since 1970). NULL on failure. */
struct sntp_server* sntp_server_start(const char* address, struct rgap_source clock);
void sntp_server_stop(struct sntp_server* server);

/* Opens a socket to that server; -1 on failure. */
int sntp_connect(const char* address);
/* Performs one exchange, stamped by `clock`. Returns 0 if no valid answer came within 0.1 s. */
int sntp_ask(int socket, struct rgap_source clock, struct ntp_exchange* out);

/* Starts chronyd in the calling thread's network namespace, as a server of this machine's system
 * time, which it never adjusts (-x). It ends with this process. Returns its process ID, -1 on
 * failure. */
pid_t sntp_chronyd_start(void);
/* Whether it is still running, which it is not if chronyd is not installed. */
int sntp_chronyd_runs(pid_t child);
void sntp_chronyd_stop(pid_t child);

#endif

/* SNTP over UDP: a server of any clock, a client, and the real chronyd as a server. */
#ifndef AFERIR_CLOCK_SNTP_H
#define AFERIR_CLOCK_SNTP_H

#include <sys/types.h>

#include "aferir/rgap.h"
#include "ntp_packet.h"

struct sntp_server;

/* Answers in a thread of its own, on port 123 of the calling thread's network namespace, with the
 * time of `clock` (nanoseconds since 1970). NULL where it cannot. */
struct sntp_server* sntp_server_start(const char* address, struct rgap_source clock);
void sntp_server_stop(struct sntp_server* server);

/* A socket that asks that server; -1 where it cannot be had. */
int sntp_connect(const char* address);
/* One exchange, stamped by `clock`. Returns 0 where no right answer came within a tenth of a
 * second. */
int sntp_ask(int socket, struct rgap_source clock, struct ntp_exchange* out);

/* chronyd as the server of this machine's system time, which it never touches (-x), in the calling
 * thread's network namespace. It ends with us. Returns its number, -1 where it cannot be started.
 */
pid_t sntp_chronyd_start(void);
/* Whether it still runs; it does not where chronyd is not installed. */
int sntp_chronyd_runs(pid_t child);
void sntp_chronyd_stop(pid_t child);

#endif

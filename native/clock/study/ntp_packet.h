/* The packet of SNTP (RFC 5905, figure 8 and section 14) and what a client reads from an exchange.
 * Pure functions; times are nanoseconds since 1970, in NTP's era 0 (until 2036). */
#ifndef AFERIR_CLOCK_NTP_PACKET_H
#define AFERIR_CLOCK_NTP_PACKET_H

#include <stddef.h>
#include <stdint.h>

enum { NTP_PACKET = 48, NTP_PORT = 123 };

/* Converts to NTP's time stamp: seconds since 1900, in units of 2^-32 s. It is rounded to the
 * nearest, so that converting back gives the same nanosecond. */
uint64_t ntp_from_ns(uint64_t unix_ns);
uint64_t ntp_to_ns(uint64_t timestamp);

/* Writes a request. `cookie` is sent as the transmit timestamp and comes back as the origin: it
 * need not be a time, and had better not be (draft-ietf-ntp-data-minimization). */
void ntp_request(uint8_t packet[NTP_PACKET], uint64_t cookie);
/* Writes the server's answer to a request, as a clock of stratum 1. Returns 0 if it is no
   request. */
int ntp_answer(const uint8_t* request, size_t length, uint64_t received_ns, uint64_t sent_ns,
               uint8_t answer[NTP_PACKET]);

struct ntp_exchange {
    int64_t offset_ns; /* the server's time less ours: ((T2 - T1) + (T3 - T4)) / 2 */
    int64_t delay_ns;  /* (T4 - T1) - (T3 - T2) */
};

/* Returns 0 if it is no answer to that request, or the server is not synchronised. */
int ntp_read_answer(const uint8_t* answer, size_t length, uint64_t cookie, uint64_t sent_ns,
                    uint64_t received_ns, struct ntp_exchange* out);

#endif

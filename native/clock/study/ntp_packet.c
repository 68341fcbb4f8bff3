#include "ntp_packet.h"

#include <string.h>

static const uint64_t SECONDS_1900_TO_1970 = 2208988800U;
static const uint64_t NS = 1000000000U;
static const uint8_t LOCAL_CLOCK[4] = {'L', 'O', 'C', 'L'};

enum { ORIGIN = 24, RECEIVE = 32, TRANSMIT = 40, CLIENT = 3, SERVER = 4, VERSION = 4 };

uint64_t ntp_from_ns(uint64_t unix_ns) {
    uint64_t seconds = unix_ns / NS + SECONDS_1900_TO_1970;
    uint64_t parts = (((unix_ns % NS) << 32) + NS / 2) / NS;
    return (seconds << 32) + parts;
}

uint64_t ntp_to_ns(uint64_t timestamp) {
    uint64_t seconds = (timestamp >> 32) - SECONDS_1900_TO_1970;
    uint64_t parts = ((timestamp & 0xffffffffU) * NS + (1ULL << 31)) >> 32;
    return seconds * NS + parts;
}

static void put(uint8_t* at, uint64_t value) {
    for (int i = 0; i < 8; ++i) {
        at[i] = (uint8_t)(value >> (56 - 8 * i));
    }
}

static uint64_t get(const uint8_t* at) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        value = value << 8 | at[i];
    }
    return value;
}

void ntp_request(uint8_t packet[NTP_PACKET], uint64_t cookie) {
    memset(packet, 0, NTP_PACKET);
    packet[0] = VERSION << 3 | CLIENT;
    put(packet + TRANSMIT, cookie);
}

int ntp_answer(const uint8_t* request, size_t length, uint64_t received_ns, uint64_t sent_ns,
               uint8_t answer[NTP_PACKET]) {
    if (length < NTP_PACKET || (request[0] & 7) != CLIENT) {
        return 0;
    }
    memset(answer, 0, NTP_PACKET);
    answer[0] = VERSION << 3 | SERVER;
    answer[1] = 1;    /* stratum */
    answer[3] = 0xec; /* precision: 2^-20 s */
    memcpy(answer + 12, LOCAL_CLOCK, sizeof(LOCAL_CLOCK));
    put(answer + 16, ntp_from_ns(received_ns)); /* reference: set just now */
    memcpy(answer + ORIGIN, request + TRANSMIT, 8);
    put(answer + RECEIVE, ntp_from_ns(received_ns));
    put(answer + TRANSMIT, ntp_from_ns(sent_ns));
    return 1;
}

int ntp_read_answer(const uint8_t* answer, size_t length, uint64_t cookie, uint64_t sent_ns,
                    uint64_t received_ns, struct ntp_exchange* out) {
    if (length < NTP_PACKET || (answer[0] & 7) != SERVER || answer[0] >> 6 == 3 || answer[1] == 0 ||
        answer[1] > 15 || get(answer + ORIGIN) != cookie || get(answer + TRANSMIT) == 0) {
        return 0; /* another's, a kiss of death, or a server without time (RFC 5905, 7.3 and 7.4) */
    }
    uint64_t arrived = ntp_to_ns(get(answer + RECEIVE)), left = ntp_to_ns(get(answer + TRANSMIT));
    int64_t there = (int64_t)(arrived - sent_ns), back = (int64_t)(left - received_ns);
    out->offset_ns = there / 2 + back / 2 + (there % 2 + back % 2) / 2;
    out->delay_ns = (int64_t)(received_ns - sent_ns) - (int64_t)(left - arrived);
    return 1;
}

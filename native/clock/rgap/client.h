/* One look over the network: drives an exchange over a transport. */
#ifndef AFERIR_CLOCK_CLIENT_H
#define AFERIR_CLOCK_CLIENT_H

#include "exchange.h"
#include "transport.h"

struct look_report {
    struct exchange_counts counts;
    uint32_t exchanges;
    uint32_t kernel_stamped;
    uint64_t duration_ns;
};

struct look_order {
    const char* address;
    uint16_t port;
    int user_stamps;
    struct rgap_source source;
    const struct hmac_key* key;
    struct filter_rule rule;
    uint64_t deadline_ns;
};

/* Performs one look. Returns an rgap_status; `report` is filled in any case. */
int rgap_client_look(const struct look_order* order, struct look* out, struct look_report* report);

#endif

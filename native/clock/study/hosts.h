/* "Hosts" inside this process: network namespaces, one for a server and one for each client, joined
 * to it by a veth pair. The namespaces have no names, so nothing is left when the process ends,
 * however it ends. */
#ifndef AFERIR_CLOCK_HOSTS_H
#define AFERIR_CLOCK_HOSTS_H

#include <stdint.h>

enum { HOSTS_MOST_CLIENTS = 2 };

/* The server's address as the first client knows it; HOSTS_SERVER[i] is that for client i. */
#define HOSTS_SERVER_ADDRESS "10.0.0.1"
extern const char* const HOSTS_SERVER[HOSTS_MOST_CLIENTS];

struct hosts {
    int server; /* files of the namespaces; -1: not there */
    int clients[HOSTS_MOST_CLIENTS];
};

/* Makes the server's host, where the calling thread then is, and the clients'. The process must
 * have a single thread. Without root it makes a user namespace as well. Returns NULL, or a sentence
 * about what was refused; errno has the reason. */
const char* hosts_open(struct hosts* hosts, uint32_t clients);
void hosts_close(struct hosts* hosts);

/* Moves the calling thread to a host: sockets that it opens belong to it. Returns 0 on success. */
int hosts_enter(int file);

#endif

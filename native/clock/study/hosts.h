/* Two "hosts" inside this process: unnamed network namespaces joined by a veth pair. Nothing of
 * them has a name, so nothing is left when the process ends, however it ends. */
#ifndef AFERIR_CLOCK_HOSTS_H
#define AFERIR_CLOCK_HOSTS_H

#define HOSTS_SERVER_ADDRESS "10.0.0.1"
#define HOSTS_CLIENT_ADDRESS "10.0.0.2"

struct hosts {
    int server; /* files of the two namespaces */
    int client;
};

/* Call while there is one thread. Without root it takes a user namespace of its own, too. Returns
 * NULL, or a sentence of what was refused; errno says why. */
const char* hosts_open(struct hosts* hosts);
void hosts_close(struct hosts* hosts);

/* Moves the calling thread there: sockets that it opens stay there. Returns 0 on success. */
int hosts_enter(int file);

#endif

#define _GNU_SOURCE
#include "sntp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 100, LOOK_UP_MS = 20 };

struct sntp_server {
    int socket;
    struct rgap_source clock;
    _Atomic int stopping;
    pthread_t thread;
};

static struct sockaddr_in address_of(const char* text) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = htons(NTP_PORT);
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

static void* serve(void* argument) {
    struct sntp_server* server = argument;
    struct pollfd ready = {server->socket, POLLIN, 0};
    while (!atomic_load(&server->stopping)) {
        uint8_t request[NTP_PACKET], answer[NTP_PACKET];
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        if (poll(&ready, 1, LOOK_UP_MS) <= 0) {
            continue;
        }
        ssize_t got = recvfrom(server->socket, request, sizeof(request), MSG_DONTWAIT,
                               (struct sockaddr*)&from, &size);
        uint64_t received = server->clock.now_ns(server->clock.context);
        uint64_t sent = server->clock.now_ns(server->clock.context);
        if (got > 0 && ntp_answer(request, (size_t)got, received, sent, answer)) {
            sendto(server->socket, answer, sizeof(answer), MSG_DONTWAIT, (struct sockaddr*)&from,
                   size);
        }
    }
    return NULL;
}

struct sntp_server* sntp_server_start(const char* address, struct rgap_source clock) {
    struct sntp_server* server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    struct sockaddr_in own = address_of(address);
    server->clock = clock;
    server->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (server->socket < 0 || bind(server->socket, (struct sockaddr*)&own, sizeof(own)) != 0 ||
        pthread_create(&server->thread, NULL, serve, server) != 0) {
        if (server->socket >= 0) {
            close(server->socket);
        }
        free(server);
        return NULL;
    }
    return server;
}

void sntp_server_stop(struct sntp_server* server) {
    if (server != NULL) {
        atomic_store(&server->stopping, 1);
        pthread_join(server->thread, NULL);
        close(server->socket);
        free(server);
    }
}

int sntp_connect(const char* address) {
    struct sockaddr_in server = address_of(address);
    int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file >= 0 && connect(file, (struct sockaddr*)&server, sizeof(server)) != 0) {
        close(file);
        return -1;
    }
    return file;
}

int sntp_ask(int socket, struct rgap_source clock, struct ntp_exchange* out) {
    uint8_t packet[NTP_PACKET], answer[NTP_PACKET];
    struct pollfd ready = {socket, POLLIN, 0};
    uint64_t sent = clock.now_ns(clock.context), cookie = sent * 0x9e3779b97f4a7c15U | 1;
    ntp_request(packet, cookie);
    if (send(socket, packet, sizeof(packet), 0) != (ssize_t)sizeof(packet)) {
        return 0;
    }
    while (poll(&ready, 1, PATIENCE_MS) > 0) {
        ssize_t got = recv(socket, answer, sizeof(answer), MSG_DONTWAIT);
        uint64_t received = clock.now_ns(clock.context);
        if (got < 0) {
            return 0; /* nobody is there: the way back was an error */
        }
        if (ntp_read_answer(answer, (size_t)got, cookie, sent, received, out)) {
            return 1;
        }
    }
    return 0;
}

/* Replaces this process by chronyd. chronyd writes its process ID to a file system that only it
 * sees; directives on the command line stand for a configuration file (chronyd(8)). It stays root,
 * because a change of user would cancel the request to be killed with us (prctl(2)). */
static void become_chronyd(pid_t parent) {
    char* const command[] = {"chronyd",
                             "-x",
                             "-d",
                             "-u",
                             "root",
                             "local stratum 1",
                             "allow",
                             "cmdport 0",
                             "bindcmdaddress /",
                             "pidfile /run/c",
                             NULL};
    int nothing = open("/dev/null", O_RDWR);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || unshare(CLONE_NEWNS) != 0 ||
        mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("run", "/run", "tmpfs", 0, NULL) != 0 || nothing < 0) {
        _exit(127);
    }
    for (int file = 0; file < 3; ++file) {
        dup2(nothing, file);
    }
    execvp(command[0], command);
    execv("/usr/sbin/chronyd", command);
    _exit(127);
}

pid_t sntp_chronyd_start(void) {
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        become_chronyd(parent);
    }
    return child;
}

int sntp_chronyd_runs(pid_t child) { return child > 0 && waitpid(child, NULL, WNOHANG) == 0; }

void sntp_chronyd_stop(pid_t child) {
    if (sntp_chronyd_runs(child)) {
        kill(child, SIGTERM);
        waitpid(child, NULL, 0);
    }
}

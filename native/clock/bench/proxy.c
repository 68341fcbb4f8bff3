#define _GNU_SOURCE
#include "proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct proxy {
    int to_client;
    int to_server;
    uint16_t port;
    struct proxy_path path;
    uint64_t seed;
    struct sockaddr_in client;
    _Atomic int stopping;
    pthread_t thread;
};

static double chance(struct proxy* proxy) {
    proxy->seed = proxy->seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(proxy->seed >> 11) * 0x1p-53;
}

static void wait_ns(uint64_t ns) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)(now.tv_sec - start.tv_sec) * 1000000000U + (uint64_t)now.tv_nsec <
             (uint64_t)start.tv_nsec + ns);
}

static void pass(struct proxy* proxy, int out, const uint8_t* data, size_t length) {
    if (out == proxy->to_server) {
        send(out, data, length, MSG_DONTWAIT);
    } else {
        sendto(out, data, length, MSG_DONTWAIT, (struct sockaddr*)&proxy->client,
               sizeof(proxy->client));
    }
}

static void pass_damaged(struct proxy* proxy, int out, const uint8_t* data, size_t length) {
    uint8_t copy[256];
    memcpy(copy, data, length);
    size_t bit = (size_t)(chance(proxy) * (double)length * 8);
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    size_t cut = chance(proxy) < 0.3 ? (size_t)(chance(proxy) * (double)length) : length;
    pass(proxy, out, copy, cut);
}

static void forward(struct proxy* proxy, int in, int out, uint32_t delay_ns) {
    uint8_t data[256];
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    ssize_t length = recvfrom(in, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr*)&from, &size);
    if (length <= 0) {
        return;
    }
    if (in == proxy->to_client) {
        proxy->client = from;
    }
    if (chance(proxy) < proxy->path.loss) {
        return;
    }
    wait_ns(delay_ns + (uint64_t)(chance(proxy) * proxy->path.jitter_ns));
    if (chance(proxy) < proxy->path.damage) {
        pass_damaged(proxy, out, data, (size_t)length);
    }
    pass(proxy, out, data, (size_t)length);
    if (chance(proxy) < proxy->path.duplicates) {
        pass(proxy, out, data, (size_t)length);
    }
}

static void* run(void* argument) {
    struct proxy* proxy = argument;
    struct pollfd ways[2] = {{proxy->to_client, POLLIN, 0}, {proxy->to_server, POLLIN, 0}};
    while (!atomic_load(&proxy->stopping)) {
        poll(ways, 2, 20);
        if (ways[0].revents != 0) {
            forward(proxy, proxy->to_client, proxy->to_server, proxy->path.there_ns);
        }
        if (ways[1].revents != 0) {
            forward(proxy, proxy->to_server, proxy->to_client, proxy->path.back_ns);
        }
    }
    return NULL;
}

static struct sockaddr_in loopback(uint16_t port) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

struct proxy* proxy_start(uint16_t server_port, const struct proxy_path* path, uint64_t seed) {
    struct proxy* proxy = calloc(1, sizeof(*proxy));
    if (proxy == NULL) {
        return NULL;
    }
    struct sockaddr_in own = loopback(0), server = loopback(server_port);
    socklen_t size = sizeof(own);
    proxy->path = *path;
    proxy->seed = seed;
    proxy->to_client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    proxy->to_server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->to_client, (struct sockaddr*)&own, size) != 0 ||
        getsockname(proxy->to_client, (struct sockaddr*)&own, &size) != 0 ||
        connect(proxy->to_server, (struct sockaddr*)&server, sizeof(server)) != 0 ||
        pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
        close(proxy->to_client);
        close(proxy->to_server);
        free(proxy);
        return NULL;
    }
    proxy->port = ntohs(own.sin_port);
    return proxy;
}

uint16_t proxy_port(const struct proxy* proxy) { return proxy->port; }

void proxy_stop(struct proxy* proxy) {
    if (proxy != NULL) {
        atomic_store(&proxy->stopping, 1);
        pthread_join(proxy->thread, NULL);
        close(proxy->to_client);
        close(proxy->to_server);
        free(proxy);
    }
}

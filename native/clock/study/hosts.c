#define _GNU_SOURCE
#include "hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INTERFACE "eth0" /* of each client, towards the server */
/* For each client, the server's network interface, then the addresses of both ends. */
static const char* const SERVER_INTERFACE[HOSTS_MOST_CLIENTS] = {"eth0", "eth1"};
const char* const HOSTS_SERVER[HOSTS_MOST_CLIENTS] = {HOSTS_SERVER_ADDRESS, "10.0.0.5"};
static const char* const CLIENT[HOSTS_MOST_CLIENTS] = {"10.0.0.2", "10.0.0.6"};

/* One rtnetlink(7) request under construction. */
struct request {
    struct nlmsghdr header;
    char body[512];
};

static void* append(struct request* request, const void* data, size_t size) {
    char* at = (char*)request + NLMSG_ALIGN(request->header.nlmsg_len);
    if (data != NULL) {
        memcpy(at, data, size);
    }
    request->header.nlmsg_len = (uint32_t)(at - (char*)request) + (uint32_t)size;
    return at;
}

static struct rtattr* attribute(struct request* request, unsigned short type, const void* data,
                                size_t size) {
    struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = type};
    struct rtattr* place = append(request, &head, sizeof(head));
    if (size > 0) {
        append(request, data, size);
    }
    return place;
}

/* Ends an attribute, which contains everything appended since it was begun. */
static void close_attribute(struct request* request, struct rtattr* place) {
    char* end = (char*)request + NLMSG_ALIGN(request->header.nlmsg_len);
    place->rta_len = (unsigned short)(end - (char*)place);
}

static struct request request_of(unsigned short type, unsigned short flags) {
    struct request request;
    memset(&request, 0, sizeof(request));
    request.header.nlmsg_len = NLMSG_LENGTH(0);
    request.header.nlmsg_type = type;
    request.header.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags);
    return request;
}

/* Sends it in the calling thread's namespace and waits for the kernel's word. 0 on success. */
static int ask(struct request* request) {
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    char answer[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    ssize_t got = -1;
    if (netlink >= 0 && send(netlink, request, request->header.nlmsg_len, 0) >= 0) {
        got = recv(netlink, answer, sizeof(answer), 0);
    }
    int saved = errno;
    if (netlink >= 0) {
        close(netlink);
    }
    errno = saved;
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        return -1;
    }
    const struct nlmsgerr* verdict = NLMSG_DATA((struct nlmsghdr*)(void*)answer);
    errno = -verdict->error;
    return verdict->error == 0 ? 0 : -1;
}

/* ip link add eth0 type veth peer name `interface` netns `server` */
static int make_pair(int server, const char* interface) {
    struct request request = request_of(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
    append(&request, &link, sizeof(link));
    attribute(&request, IFLA_IFNAME, INTERFACE, sizeof(INTERFACE));
    struct rtattr* information = attribute(&request, IFLA_LINKINFO, NULL, 0);
    attribute(&request, IFLA_INFO_KIND, "veth", strlen("veth"));
    struct rtattr* data = attribute(&request, IFLA_INFO_DATA, NULL, 0);
    struct rtattr* peer = attribute(&request, VETH_INFO_PEER, NULL, 0);
    append(&request, &link, sizeof(link));
    attribute(&request, IFLA_IFNAME, interface, strlen(interface) + 1);
    attribute(&request, IFLA_NET_NS_FD, &server, sizeof(server));
    close_attribute(&request, peer);
    close_attribute(&request, data);
    close_attribute(&request, information);
    return ask(&request);
}

static int set_up(const char* interface) {
    struct request request = request_of(RTM_NEWLINK, 0);
    struct ifinfomsg link = {.ifi_family = AF_UNSPEC,
                             .ifi_index = (int)if_nametoindex(interface),
                             .ifi_flags = IFF_UP,
                             .ifi_change = IFF_UP};
    append(&request, &link, sizeof(link));
    return ask(&request);
}

static int add_address(const char* interface, const char* text) {
    struct request request = request_of(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    struct ifaddrmsg address = {
        .ifa_family = AF_INET, .ifa_prefixlen = 30, .ifa_index = if_nametoindex(interface)};
    struct in_addr number;
    inet_pton(AF_INET, text, &number);
    append(&request, &address, sizeof(address));
    attribute(&request, IFA_LOCAL, &number, sizeof(number));
    attribute(&request, IFA_ADDRESS, &number, sizeof(number));
    return ask(&request);
}

static int write_file(const char* path, const char* text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    int status = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
    if (file >= 0) {
        close(file);
    }
    return status;
}

/* A process that may not make a network namespace may do so as root of a user namespace
 * (user_namespaces(7)). */
static int become_root(void) {
    char map[64];
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)getuid());
    return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") == 0 &&
                   write_file("/proc/self/uid_map", map) == 0
               ? 0
               : -1;
}

static int own_namespace(int* file) {
    if (unshare(CLONE_NEWNET) != 0) {
        return -1;
    }
    *file = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return *file < 0 ? -1 : set_up("lo");
}

/* Connects a client. The calling thread is in its new namespace meanwhile, and in the server's
   afterwards. */
static const char* join(const struct hosts* hosts, uint32_t client) {
    const char* interface = SERVER_INTERFACE[client];
    if (make_pair(hosts->server, interface) != 0) {
        return "hosts cannot be made here: a veth pair is refused";
    }
    if (add_address(INTERFACE, CLIENT[client]) != 0 || set_up(INTERFACE) != 0 ||
        hosts_enter(hosts->server) != 0 || add_address(interface, HOSTS_SERVER[client]) != 0 ||
        set_up(interface) != 0) {
        return "hosts cannot be made here: an address on a veth pair is refused";
    }
    return NULL;
}

const char* hosts_open(struct hosts* hosts, uint32_t clients) {
    *hosts = (struct hosts){-1, {-1, -1}};
    if (geteuid() != 0 && become_root() != 0) {
        return "hosts cannot be made here: a user namespace is refused";
    }
    if (own_namespace(&hosts->server) != 0) {
        return "hosts cannot be made here: a network namespace is refused";
    }
    const char* refused = NULL;
    for (uint32_t i = 0; refused == NULL && i < clients; ++i) {
        refused = own_namespace(&hosts->clients[i]) != 0
                      ? "hosts cannot be made here: a network namespace is refused"
                      : join(hosts, i);
    }
    return refused;
}

void hosts_close(struct hosts* hosts) {
    for (int i = 0; i < HOSTS_MOST_CLIENTS; ++i) {
        if (hosts->clients[i] >= 0) {
            close(hosts->clients[i]);
        }
    }
    if (hosts->server >= 0) {
        close(hosts->server);
    }
}

int hosts_enter(int file) { return setns(file, CLONE_NEWNET); }

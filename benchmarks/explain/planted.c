// Programs of a fraction of a second, each of which suffers from one feature of an environment.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char* what) {
    perror(what);
    exit(1);
}

// Rounds of arithmetic, nothing else.
static void spin(long rounds) {
    volatile uint64_t state = 88172645463325252U;
    for (long i = 0; i < rounds; i++) {
        uint64_t x = state;
        x ^= x << 13U;
        x ^= x >> 7U;
        x ^= x << 17U;
        state = x;
    }
}

// Bind this process to one of the CPUs that it may use, as ranks of MPI are bound.
static void bind_to_cpu(long rank) {
    cpu_set_t may, own;
    if (sched_getaffinity(0, sizeof may, &may) != 0) fail("sched_getaffinity");
    long place = rank % CPU_COUNT(&may);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &may) && place-- == 0) {
            CPU_ZERO(&own);
            CPU_SET(cpu, &own);
        }
    }
    if (sched_setaffinity(0, sizeof own, &own) != 0) fail("sched_setaffinity");
}

// The same in several processes at once, each on a CPU of its own as far as there are enough.
static void together(long processes, long rounds) {
    for (long i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (child == 0) {
            bind_to_cpu(i);
            spin(rounds);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
}

// System calls whose arguments a filter has to look at.
static void calls(long count) {
    int handle = open("/dev/null", O_WRONLY);
    if (handle < 0) fail("/dev/null");
    for (long i = 0; i < count; i++) {
        if (write(handle, "x", 1) != 1) fail("write");
    }
}

// Small files in the working folder, which are there: looked at, opened and closed.
static void files(long count, long times) {
    char name[32];
    struct stat found;
    for (long i = 0; i < count * times; i++) {
        snprintf(name, sizeof name, "small-%ld", i % count);
        int handle = open(name, O_RDONLY);
        if (handle < 0 || fstat(handle, &found) != 0) fail(name);
        close(handle);
    }
}

// Datagrams to a socket that nobody reads: the way there is all that they cost, and the kernel goes
// it in the sender's own time.
static void sends(const char* host, long port, long count) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char text[64] = "";
    int handle = socket(AF_INET, SOCK_DGRAM, 0);
    if (inet_pton(AF_INET, host, &at.sin_addr) != 1) fail(host);
    if (connect(handle, (struct sockaddr*)&at, sizeof at) != 0) fail("connect");
    for (long i = 0; i < count; i++) {
        if (send(handle, text, sizeof text, 0) != (ssize_t)sizeof text) fail("send");
    }
}

// Memory that asks for huge pages, a byte of each small page.
static void pages(long megabytes, long times) {
    size_t size = (size_t)megabytes << 20U;
    for (long i = 0; i < times; i++) {
        char* at = mmap(NULL, size + (2U << 20U), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) fail("mmap");
        madvise(at, size + (2U << 20U), MADV_HUGEPAGE);
        for (size_t place = 0; place < size; place += 4096) {
            ((volatile char*)at)[place] = 1;
        }
        munmap(at, size + (2U << 20U));
    }
}

// A file from its beginning to its end, several times.
static void reads(const char* name, long times) {
    static char block[1 << 17];
    for (long i = 0; i < times; i++) {
        int handle = open(name, O_RDONLY);
        if (handle < 0) fail(name);
        while (read(handle, block, sizeof block) > 0) {
        }
        close(handle);
    }
}

// Work that is done twice by whoever may not raise its priority, as some programs take a slower
// way where they are not really root.
static void favoured(long rounds) {
    int usual = getpriority(PRIO_PROCESS, 0);
    if (setpriority(PRIO_PROCESS, 0, usual - 1) != 0) {
        spin(rounds);
    }
    setpriority(PRIO_PROCESS, 0, usual);
    spin(rounds);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    const char* text = argc > 2 ? argv[2] : "";
    long first = strtol(text, NULL, 10);
    long second = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
    long third = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    if (strcmp(what, "spin") == 0) {
        spin(first);
    } else if (strcmp(what, "together") == 0) {
        together(first, second);
    } else if (strcmp(what, "calls") == 0) {
        calls(first);
    } else if (strcmp(what, "files") == 0) {
        files(first, second);
    } else if (strcmp(what, "sends") == 0) {
        sends(text, second, third);
    } else if (strcmp(what, "pages") == 0) {
        pages(first, second);
    } else if (strcmp(what, "reads") == 0) {
        reads(text, second);
    } else if (strcmp(what, "favoured") == 0) {
        favoured(first);
    } else {
        fputs("planted WHAT NUMBER ...\n", stderr);
        return 2;
    }
    puts("done");
    return 0;
}

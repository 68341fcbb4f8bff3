/* Tests RGAP over a veth pair between two network namespaces, which this test makes and removes.
 * Needs root.
 *
 * Both ends read one clock, so the true offset is zero, which the bound must contain on any
 * machine. The size of the error and the number of exchanges are measured by the benchmark `clock`.
 * */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aferir/rgap.h"
#include "check.h"

enum { RUNS = 50 };

static const uint8_t KEY[] = "a key of 32 bytes for this test.";
static char server_name[64], client_name[64];

/* Runs ip(8) by the shell; all names are made of this process's ID, so nothing needs quoting. */
static int ip(const char* format, ...) __attribute__((format(printf, 1, 2)));

static int ip(const char* format, ...) {
    char command[256] = "ip ";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command + 3, sizeof(command) - 3, format, arguments);
    va_end(arguments);
    int status = system(command);
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void remove_namespaces(void) {
    ip("netns del %s 2>/dev/null", server_name); /* and the veth pair with it */
    ip("netns del %s 2>/dev/null", client_name);
}

static int make_namespaces(void) {
    return ip("netns add %s", server_name) && ip("netns add %s", client_name) &&
           ip("-n %s link add afc0 type veth peer name afc1 netns %s", server_name, client_name) &&
           ip("-n %s addr add 10.203.0.1/30 dev afc0", server_name) &&
           ip("-n %s addr add 10.203.0.2/30 dev afc1", client_name) &&
           ip("-n %s link set lo up", server_name) && ip("-n %s link set lo up", client_name) &&
           ip("-n %s link set afc0 up", server_name) && ip("-n %s link set afc1 up", client_name);
}

static int enter(const char* name) {
    char path[128];
    snprintf(path, sizeof(path), "/run/netns/%s", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int status = file < 0 ? -1 : setns(file, CLONE_NEWNET);
    if (file >= 0) {
        close(file);
    }
    return status == 0;
}

static int by_size(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void measure(const struct rgap_config* config) {
    static double error[RUNS], width[RUNS];
    for (int i = 0; i < RUNS; ++i) {
        struct rgap* clock;
        struct rgap_facts facts;
        int status = rgap_create(&clock, config);
        while (status == RGAP_ERROR_NO_ANSWER) { /* the server's thread lost its core for long */
            status = rgap_create(&clock, config);
        }
        CHECK(status == RGAP_OK);
        rgap_info(clock, &facts);
        error[i] = fabs((double)facts.offset_ns);
        width[i] = (double)facts.half_width_ns;
        CHECK(error[i] <= width[i]);
        rgap_destroy(clock);
    }
    qsort(error, RUNS, sizeof(*error), by_size);
    qsort(width, RUNS, sizeof(*width), by_size);
    printf("error: median %.0f ns, largest %.0f ns; half-width: median %.0f ns\n", error[RUNS / 2],
           error[RUNS - 1], width[RUNS / 2]);
    fflush(stdout);
}

/* Runs the client in a child process, so that the parent can remove the namespaces however it ends.
 * */
static int run_child(void) {
    struct rvec* rvec;
    struct rgap_server* server;
    struct rgap_server_config serving;
    struct rgap_server_facts served;
    struct rgap_config config;
    CHECK(rvec_open(&rvec, NULL) == RVEC_OK);
    rgap_server_config_init(&serving);
    serving.address = "10.203.0.1";
    serving.port = 0;
    serving.key = KEY;
    serving.key_length = 32;
    serving.source = rgap_source_rvec(rvec);
    CHECK(enter(server_name));
    CHECK(rgap_server_start(&server, &serving) == RGAP_OK);
    rgap_server_info(server, &served);
    rgap_config_init(&config);
    config.address = "10.203.0.1";
    config.port = served.port;
    config.key = KEY;
    config.key_length = 32;
    config.source = rgap_source_rvec(rvec);
    CHECK(enter(client_name));
    measure(&config);
    rgap_server_stop(server);
    rvec_close(rvec);
    return 0;
}

int main(void) {
    if (geteuid() != 0 || !ip("-V >/dev/null 2>&1")) {
        printf("skip: needs root and iproute2\n");
        return CHECK_SKIP;
    }
    snprintf(server_name, sizeof(server_name), "aferir-test-s%d", (int)getpid());
    snprintf(client_name, sizeof(client_name), "aferir-test-c%d", (int)getpid());
    if (!make_namespaces()) {
        remove_namespaces();
        printf("skip: no namespaces or veth links here\n");
        return CHECK_SKIP;
    }
    pid_t child = fork();
    if (child == 0) {
        fflush(stdout);
        exit(run_child());
    }
    int status = 1;
    if (child > 0) {
        waitpid(child, &status, 0);
    }
    remove_namespaces();
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Tests that processes with the same job name share one clock, and that readings never go back. */
#define _GNU_SOURCE
#include "host_clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../clock/check.h"

/* Largest error of a rate, as in look.c: it counts for as long as others keep us from a core. */
static const double RATE_LIMIT = 250e-6;

static uint64_t raw_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* Name of a page that nothing else uses: this test may also run under an emulator meanwhile.
 * Children have the one of the process that asked first. */
static const char* own_name(void) {
    static char name[64];
    if (name[0] == '\0') {
        snprintf(name, sizeof(name), "/aferir-mpi-test-%d", (int)getpid());
    }
    return name;
}

static void follows_the_reference_before_and_after(void) {
    const uint64_t before = raw_ns(), unprepared = host_clock_ns();
    CHECK(unprepared + 1000 >= before && unprepared <= raw_ns() + 1000);
    host_clock_prepare();
    char name[HOST_CLOCK_NAME];
    host_clock_name(name);
    host_clock_attach(name);
    struct timespec nap = {0, 20000000};
    nanosleep(&nap, NULL);
    CHECK(host_clock_attached() == 1);
    const uint64_t calibrated = raw_ns();
    host_clock_calibrate();
    CHECK(shm_open(name, O_RDONLY, 0) < 0); /* nothing is left behind */
    int64_t closest = INT64_MAX;
    for (int i = 0; i < 1000; ++i) {
        int64_t off = llabs((int64_t)(host_clock_ns() - raw_ns()));
        off -= (int64_t)((double)(raw_ns() - calibrated) * RATE_LIMIT);
        closest = off < closest ? off : closest;
    }
    CHECK(closest < 1000);
    CHECK(host_clock_tick_s() >= 1e-9 && host_clock_tick_s() < 1e-7);
}

static void readings_go_on_over_checks_and_better_rates(void) {
    /* Takes a reading between two of the reference at each end, as other programs may run here too.
     * */
    const uint64_t before = raw_ns(), start = host_clock_ns(), after = raw_ns();
    uint64_t last = start;
    while (last - start < 500000000) {
        uint64_t now = host_clock_ns();
        CHECK(now >= last);
        last = now;
    }
    const uint64_t least = raw_ns() - after, passed = host_clock_ns() - start;
    const uint64_t most = raw_ns() - before, allowed = (uint64_t)((double)most * RATE_LIMIT);
    CHECK(passed + allowed >= least && passed <= most + allowed);
}

static void a_second_process_has_the_same_clock(void) {
    const char* name = own_name();
    shm_unlink(name);
    host_clock_prepare();
    host_clock_attach(name);
    uint64_t identity = host_clock_identity();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        host_clock_attach(name);
        _exit(host_clock_identity() == identity && host_clock_attached() == 2 ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(host_clock_attached() == 2);
    shm_unlink(name);
}

/* Leaves a page behind, as a job does that is killed within MPI_Init, and starts again under the
 * same name. */
static void a_page_that_a_killed_process_left_is_made_anew(void) {
    const char* name = own_name();
    uint64_t identities[2];
    int told[2];
    shm_unlink(name);
    CHECK(pipe(told) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        host_clock_attach(name);
        host_clock_attach(name);
        uint64_t identity = host_clock_identity();
        if (write(told[1], &identity, sizeof(identity)) == sizeof(identity)) {
            pause();
        }
        _exit(1);
    }
    CHECK(read(told[0], &identities[0], sizeof(identities[0])) == sizeof(identities[0]));
    host_clock_find(name); /* as long as that process lives, it is the page of both */
    host_clock_attach(name);
    CHECK(host_clock_identity() == identities[0] && host_clock_attached() == 3);
    shm_unlink(name);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);

    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        host_clock_attach(name);
        uint64_t identity = host_clock_identity();
        if (write(told[1], &identity, sizeof(identity)) == sizeof(identity)) {
            raise(SIGKILL);
        }
        _exit(1);
    }
    CHECK(read(told[0], &identities[1], sizeof(identities[1])) == sizeof(identities[1]));
    CHECK(waitpid(child, NULL, 0) == child);
    host_clock_find(name);
    host_clock_attach(name);
    CHECK(host_clock_identity() != identities[1] && host_clock_attached() == 1);
    shm_unlink(name);
    close(told[0]);
    close(told[1]);
}

/* A job was killed, and is started again under the same name while its old ranks still end. */
static void jobs_of_one_name_and_two_launchers_have_two_pages(void) {
    char name[HOST_CLOCK_NAME], of_child[HOST_CLOCK_NAME], number[16];
    int ends[2];
    CHECK(setenv("AFERIR_MPI_JOB", "one", 1) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    snprintf(number, sizeof(number), "%d", ends[0]);
    CHECK(setenv("PMI_FD", number, 1) == 0);
    host_clock_name(name);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        host_clock_name(of_child);
        int same = strcmp(of_child, name) == 0; /* a rank of this launcher */
        int own[2];
        int made = socketpair(AF_UNIX, SOCK_STREAM, 0, own) == 0 && dup2(own[0], ends[0]) >= 0;
        host_clock_name(of_child);
        _exit(same && made && strcmp(of_child, name) != 0 ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(unsetenv("PMI_FD") == 0 && unsetenv("AFERIR_MPI_JOB") == 0);
    close(ends[0]);
    close(ends[1]);
}

static void finding_a_page_neither_makes_nor_joins_it(void) {
    const char* name = own_name();
    shm_unlink(name);
    host_clock_find(name);
    CHECK(shm_open(name, O_RDONLY, 0) < 0);
    host_clock_attach(name);
    uint64_t identity = host_clock_identity();
    host_clock_find(name);
    CHECK(host_clock_attached() == 1);
    host_clock_attach(name);
    CHECK(host_clock_identity() == identity && host_clock_attached() == 2);
    shm_unlink(name);
}

static void a_file_that_others_may_write_is_not_trusted(void) {
    const char* name = own_name();
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && fchmod(file, 0666) == 0);
    host_clock_attach(name);
    uint64_t identity = host_clock_identity();
    host_clock_attach(name); /* no sharing: each time another identity */
    CHECK(host_clock_identity() != identity);
    close(file);
    shm_unlink(name);
}

int main(void) {
    RUN(follows_the_reference_before_and_after);
    RUN(readings_go_on_over_checks_and_better_rates);
    RUN(a_second_process_has_the_same_clock);
    RUN(a_page_that_a_killed_process_left_is_made_anew);
    RUN(jobs_of_one_name_and_two_launchers_have_two_pages);
    RUN(finding_a_page_neither_makes_nor_joins_it);
    RUN(a_file_that_others_may_write_is_not_trusted);
    return 0;
}

/* Speaks PMI-1 with Hydra on the descriptor PMI_FD, as MPI_Finalize does (MPICH, src/pmi). */
#include "common/leave_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sends a command, and reads a line; returns whether it is the answer `awaited`. */
static int ask(int launcher, const char* command, const char* awaited) {
    char line[256];
    size_t length = 0;
    if (write(launcher, command, strlen(command)) != (ssize_t)strlen(command)) {
        return 0;
    }
    while (length < sizeof(line) - 1 && read(launcher, &line[length], 1) == 1) {
        if (line[length++] == '\n') {
            line[length] = '\0';
            return strncmp(line, awaited, strlen(awaited)) == 0;
        }
    }
    return 0;
}

void leave_job(int code) {
    const char* launcher = getenv("PMI_FD");
    if (launcher == NULL) {
        return;
    }
    int number = (int)strtol(launcher, NULL, 10);
    fflush(NULL);
    if (ask(number, "cmd=barrier_in\n", "cmd=barrier_out") &&
        ask(number, "cmd=finalize\n", "cmd=finalize_ack")) {
        _exit(code);
    }
}

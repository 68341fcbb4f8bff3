/* Takes the last usable core off line and back (cpu_hotplug, the kernel's admin-guide). */
#ifndef AFERIR_CLOCK_PLUG_H
#define AFERIR_CLOCK_PLUG_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cores.h"

static inline size_t plug_last_core(const struct cores* cores) {
    size_t last = 0;
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
        last = CPU_ISSET(core, &cores->allowed) ? core : last;
    }
    return last;
}

/* Takes a core on line or off line, which needs root. Returns whether it has that state now; else
 * errno has the reason. */
static inline int plug_set(size_t core, int on_line) {
    char path[64];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/online", core);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    int done = write(file, on_line ? "1" : "0", 1) == 1;
    close(file);
    return done;
}

#endif

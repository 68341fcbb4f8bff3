#define _DEFAULT_SOURCE  // syscall(2)

#include "scheduling.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(aferir_scheduling) == 48, "SCHED_ATTR_SIZE_VER0");

int aferir_scheduling_set(int32_t tid, const aferir_scheduling* wanted) {
    return syscall(SYS_sched_setattr, tid, wanted, 0U) == 0 ? 0 : errno;
}

int aferir_scheduling_get(int32_t tid, aferir_scheduling* found) {
    const unsigned size = sizeof *found;
    return syscall(SYS_sched_getattr, tid, found, size, 0U) == 0 ? 0 : errno;
}

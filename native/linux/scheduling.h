#ifndef AFERIR_LINUX_SCHEDULING_H
#define AFERIR_LINUX_SCHEDULING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// struct sched_attr of the kernel in its first version, 48 bytes (sched_setattr(2)); utilisation
/// clamps are left alone. Times are nanoseconds.
typedef struct aferir_scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
} aferir_scheduling;

/// sched_setattr(2) and sched_getattr(2), which glibc wraps since 2.41 only. `tid` 0 is the calling
/// thread. Returns 0, or the number of the error.
int aferir_scheduling_set(int32_t tid, const aferir_scheduling* wanted);
int aferir_scheduling_get(int32_t tid, aferir_scheduling* found);

#ifdef __cplusplus
}
#endif

#endif

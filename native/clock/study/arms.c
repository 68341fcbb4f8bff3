#define _GNU_SOURCE
#include "arms.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define NAME(id, name, ticks, expression) name,
const char* const ARM_NAMES[ARMS] = {STUDY_CLOCKS(NAME)};
#undef NAME
#define IN_TICKS(id, name, ticks, expression) ticks,
const int ARM_IN_TICKS[ARMS] = {STUDY_CLOCKS(IN_TICKS)};
#undef IN_TICKS

int arm_open(struct arm* arm, struct rvec* rvec) {
    arm->rvec = rvec;
    return rvec_attach_thread(rvec, &arm->thread) == RVEC_OK &&
           rvec_attach_process(rvec, &arm->process) == RVEC_OK;
}

int arm_is_there(int place) {
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    if (place == ARM_rdtscp) { /* Intel SDM, volume 2A, CPUID 80000001H: EDX bit 27 */
        return __get_cpuid(0x80000001U, &a, &b, &c, &d) && (d >> 27 & 1) != 0;
    }
#endif
    return place >= 0 && place < ARMS;
}

int arms_here(int places[ARMS]) {
    int count = 0;
    for (int place = 0; place < ARMS; ++place) {
        if (arm_is_there(place)) {
            places[count++] = place;
        }
    }
    return count;
}

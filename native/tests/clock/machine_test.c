#include "machine.h"

#include "check.h"

static void believes_the_kernel_over_the_processor(void) {
    const char* all = "tsc kvm-clock hpet acpi_pm \n";
    CHECK(rvec_machine_judge_sources(1, "tsc\n", all, "tsc") == RVEC_INVARIANCE_TRUSTED);
    CHECK(rvec_machine_judge_sources(0, "tsc\n", all, "tsc") == RVEC_INVARIANCE_TRUSTED);
    CHECK(rvec_machine_judge_sources(1, "kvm-clock\n", all, "tsc") == RVEC_INVARIANCE_CLAIMED);
    CHECK(rvec_machine_judge_sources(0, "kvm-clock\n", all, "tsc") == RVEC_INVARIANCE_NONE);
    /* The kernel's watchdog has removed the TSC from the list. */
    CHECK(rvec_machine_judge_sources(1, "hpet\n", "hpet acpi_pm \n", "tsc") ==
          RVEC_INVARIANCE_NONE);
    CHECK(rvec_machine_judge_sources(1, "hpet\n", "tsc-early hpet\n", "tsc") ==
          RVEC_INVARIANCE_NONE);
    CHECK(rvec_machine_judge_sources(1, "", "", "tsc") == RVEC_INVARIANCE_NONE);
}

int main(void) {
    RUN(believes_the_kernel_over_the_processor);
    return 0;
}

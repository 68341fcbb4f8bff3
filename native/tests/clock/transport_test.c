#include "transport.h"

#include "check.h"

static void a_stamp_is_moved_by_its_age(void) {
    struct stamp stamp = {0, 0, 0};
    CHECK(rgap_transport_place_stamp(10000, 10040, 500, 9000, 10000, &stamp));
    CHECK(stamp.ns == 9520);
    CHECK(stamp.error_ns == 21);
    CHECK(stamp.by_kernel);
}

/* A thread that was kept from its core reads a stamp late, and CLOCK_REALTIME runs at a rate of its
 * own meanwhile. */
static void an_old_stamp_is_less_certain(void) {
    struct stamp stamp = {0, 0, 0};
    CHECK(rgap_transport_place_stamp(100000000, 100000040, 20000000, 0, 100000000, &stamp));
    CHECK(stamp.ns == 80000020);
    CHECK(stamp.error_ns == 10021);
}

/* The clock of the kernel's stamps has been set between stamp and look. */
static void a_contradiction_is_not_believed(void) {
    struct stamp stamp = {7, 0, 0};
    CHECK(!rgap_transport_place_stamp(10000, 10040, 5000, 9000, 10000, &stamp));
    CHECK(!rgap_transport_place_stamp(10000, 10040, -5000, 9000, 10000, &stamp));
    CHECK(!rgap_transport_place_stamp(10000, 10040, INT64_MAX, 9000, 10000, &stamp));
    CHECK(stamp.ns == 7 && !stamp.by_kernel);
    /* Within the bracket it may be either. */
    CHECK(rgap_transport_place_stamp(10000, 10040, 1030, 9000, 10000, &stamp));
    CHECK(rgap_transport_place_stamp(10000, 10040, 10, 9000, 10000, &stamp));
}

int main(void) {
    RUN(a_stamp_is_moved_by_its_age);
    RUN(an_old_stamp_is_less_certain);
    RUN(a_contradiction_is_not_believed);
    return 0;
}

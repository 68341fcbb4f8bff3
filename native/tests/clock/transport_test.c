#include "transport.h"

#include "check.h"

static void a_stamp_is_moved_by_its_age(void) {
    struct stamp stamp = {0, 0, 0};
    CHECK(rgap_transport_place_stamp(10000, 10040, 500, 9000, 10000, &stamp));
    CHECK(stamp.ns == 9520);
    CHECK(stamp.error_ns == 21);
    CHECK(stamp.by_kernel);
}

/* A thread that lost its core reads a stamp late; meanwhile CLOCK_REALTIME may have run at a
 * different rate. */
static void an_old_stamp_is_less_certain(void) {
    struct stamp stamp = {0, 0, 0};
    CHECK(rgap_transport_place_stamp(100000000, 100000040, 20000000, 0, 100000000, &stamp));
    CHECK(stamp.ns == 80000020);
    CHECK(stamp.error_ns == 10021);
}

/* CLOCK_REALTIME, which the kernel stamps with, has been set between the stamp and its conversion.
 * */
static void a_contradiction_is_not_believed(void) {
    struct stamp stamp = {7, 0, 0};
    CHECK(!rgap_transport_place_stamp(10000, 10040, 5000, 9000, 10000, &stamp));
    CHECK(!rgap_transport_place_stamp(10000, 10040, -5000, 9000, 10000, &stamp));
    CHECK(!rgap_transport_place_stamp(10000, 10040, INT64_MAX, 9000, 10000, &stamp));
    CHECK(stamp.ns == 7 && !stamp.by_kernel);
    /* Within the bracket the stamp may have been taken at any time. */
    CHECK(rgap_transport_place_stamp(10000, 10040, 1030, 9000, 10000, &stamp));
    CHECK(rgap_transport_place_stamp(10000, 10040, 10, 9000, 10000, &stamp));
}

int main(void) {
    RUN(a_stamp_is_moved_by_its_age);
    RUN(an_old_stamp_is_less_certain);
    RUN(a_contradiction_is_not_believed);
    return 0;
}

#include "transport.h"

#include "check.h"

static void a_stamp_is_moved_by_its_age(void) {
    struct stamp stamp = {0, 0, 0};
    CHECK(rgap_transport_place_stamp(10000, 10040, 500, 9000, 10000, &stamp));
    CHECK(stamp.ns == 9520);
    CHECK(stamp.error_ns == 21);
    CHECK(stamp.by_kernel);
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
    RUN(a_contradiction_is_not_believed);
    return 0;
}

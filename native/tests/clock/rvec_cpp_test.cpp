#include <thread>

#include "aferir/rvec.hpp"
#include "check.h"

static_assert(std::chrono::is_clock_v<aferir::rvec_clock>);

static void is_a_strict_chrono_clock() {
    auto last = aferir::rvec_clock::now();
    for (int i = 0; i < 100000; ++i) {
        auto now = aferir::rvec_clock::now();
        CHECK(now > last);
        last = now;
    }
    aferir::rvec_clock::time_point other;
    std::thread([&] { other = aferir::rvec_clock::now(); }).join();
    CHECK(other > last);
    CHECK(aferir::rvec_clock::now() > other);
}

static void throws_what_went_wrong() {
    aferir::rvec_error error(RVEC_ERROR_NOT_INVARIANT);
    CHECK(error.status() == RVEC_ERROR_NOT_INVARIANT);
}

int main() {
    RUN(is_a_strict_chrono_clock);
    RUN(throws_what_went_wrong);
}

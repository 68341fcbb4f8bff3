#include "network/timeline.hpp"

#include <fstream>
#include <stdexcept>

namespace aferir::network {

Timeline::Timeline() {
    if (const int status = rvec_open(&rvec_, nullptr); status != RVEC_OK) {
        throw std::runtime_error(std::string("no clock: ") + rvec_strerror(status));
    }
    rvec_get_rate(rvec_, &rate_);
}

Timeline::~Timeline() { rvec_close(rvec_); }

Timeline::Reader::Reader(const Timeline& timeline) {
    if (const int status = rvec_attach_process(timeline.handle(), &clock_); status != RVEC_OK) {
        throw std::runtime_error(std::string("no clock: ") + rvec_strerror(status));
    }
}

bool Timeline::counter_trusted() const {
    rvec_facts facts{};
    rvec_info(rvec_, &facts);
    return facts.invariance == RVEC_INVARIANCE_TRUSTED;
}

double Timeline::seconds_between(std::uint64_t first, std::uint64_t second) const {
    const double ns = second >= first
                          ? static_cast<double>(rvec_ticks_to_ns(rate_, second - first))
                          : -static_cast<double>(rvec_ticks_to_ns(rate_, first - second));
    return ns * 1e-9;
}

std::uint64_t host_identity() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string text;
    file >> text;
    // FNV-1a: two kernels that start do not have the same sum by chance.
    std::uint64_t sum = 0xcbf29ce484222325U;
    for (const char character : text) {
        sum = (sum ^ static_cast<unsigned char>(character)) * 0x100000001b3U;
    }
    return text.empty() ? 0 : sum;
}

}  // namespace aferir::network

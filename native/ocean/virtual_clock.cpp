#include "ocean/virtual_clock.hpp"

#include <algorithm>

namespace aferir::ocean {
namespace {

constexpr double kMostSlew = 500e-6;
constexpr double kProportional = 0.5;
constexpr double kIntegral = 0.1;

double shown(const ClockPage& page, double base_raw, double base_time, double slew, double raw) {
    return base_time + (raw - base_raw) * (1 + page.oscillator) * (1 + slew);
}

}  // namespace

// A reader that saw the page change while it read looks again (a sequence lock).
double read_clock(const ClockPage& page, double raw) {
    while (true) {
        const std::uint32_t before = page.version.load(std::memory_order_acquire);
        const double base_raw = page.base_raw.load(std::memory_order_relaxed);
        const double base_time = page.base_time.load(std::memory_order_relaxed);
        const double slew = page.slew.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before % 2 == 0 && page.version.load(std::memory_order_relaxed) == before) {
            return shown(page, base_raw, base_time, slew, raw);
        }
    }
}

void slew_clock(ClockPage& page, double raw, double slew) {
    const double time = read_clock(page, raw);
    page.version.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    page.base_raw.store(raw, std::memory_order_relaxed);
    page.base_time.store(time, std::memory_order_relaxed);
    page.slew.store(slew, std::memory_order_relaxed);
    page.version.fetch_add(1, std::memory_order_release);
}

double Discipline::correct(double offset_s, double interval_s) {
    const double wanted = std::clamp(offset_s / interval_s, -kMostSlew, kMostSlew);
    rate_ = std::clamp(rate_ + kIntegral * wanted, -kMostSlew, kMostSlew);
    return std::clamp(rate_ + kProportional * wanted, -kMostSlew, kMostSlew);
}

}  // namespace aferir::ocean

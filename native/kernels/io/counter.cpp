#include "io/counter.hpp"

#include <algorithm>
#include <utility>

namespace aferir::io {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

TermCounter::TermCounter() : slots_(kFirstSlots) {}

void TermCounter::add(std::string_view term, std::uint64_t hash, std::uint64_t times) {
    const auto last = slots_.size() - 1;
    for (auto place = hash & last;; place = (place + 1) & last) {
        auto& slot = slots_[place];
        if (slot.times == 0) {
            slot = {hash, times, letters_.size(), term.size()};
            letters_ += term;
            if (++used_ * 2 > slots_.size()) {
                grow();
            }
            return;
        }
        if (slot.hash == hash && letters_of(slot) == term) {
            slot.times += times;
            return;
        }
    }
}

void TermCounter::clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    letters_.clear();
    used_ = 0;
}

void TermCounter::grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    const auto last = larger.size() - 1;
    for (const auto& slot : slots_) {
        if (slot.times != 0) {
            auto place = slot.hash & last;
            while (larger[place].times != 0) {
                place = (place + 1) & last;
            }
            larger[place] = slot;
        }
    }
    slots_ = std::move(larger);
}

}  // namespace aferir::io

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aferir::io {

/// How often each term was added: a hash table with linear probing that keeps the terms' letters.
class TermCounter {
  public:
    TermCounter();

    /// `hash` is that of the term, by `hash_text`.
    void add(std::string_view term, std::uint64_t hash, std::uint64_t times = 1);
    void clear();
    [[nodiscard]] std::size_t size() const { return used_; }

    /// Calls `take(term, hash, times)` for every term, in no order.
    template <typename Take>
    void for_each(Take&& take) const {
        for (const auto& slot : slots_) {
            if (slot.times != 0) {
                take(letters_of(slot), slot.hash, slot.times);
            }
        }
    }

  private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint64_t times = 0;  // 0: free
        std::uint64_t start = 0;
        std::uint64_t length = 0;
    };
    [[nodiscard]] std::string_view letters_of(const Slot& slot) const {
        return std::string_view(letters_).substr(slot.start, slot.length);
    }
    void grow();

    std::vector<Slot> slots_;
    std::string letters_;
    std::size_t used_ = 0;
};

}  // namespace aferir::io

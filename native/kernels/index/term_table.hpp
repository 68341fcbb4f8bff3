#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace aferir::index {

/// How often a term occurs in a document.
struct Posting {
    std::uint32_t document = 0;
    std::uint32_t occurrences = 0;

    bool operator==(const Posting&) const = default;
};

/// Postings by term in a fixed amount of memory, allocated at once.
class TermTable {
  public:
    static constexpr std::size_t kLeastBytes = 4096;

    /// `bytes` is at least kLeastBytes; the number of slots is rounded down to a power of two.
    explicit TermTable(std::size_t bytes);

    /// Adds a posting. Returns false, and changes nothing, if the memory is full; an empty table
    /// always accepts one. `hash` is that of the term.
    bool add(std::string_view term, std::uint64_t hash, Posting posting);

    /// Calls `take` for every term in alphabetical order, with its postings in the order of their
    /// addition, and empties the table.
    using Take = std::function<void(std::string_view, std::span<const Posting>)>;
    void flush(const Take& take);

    [[nodiscard]] std::size_t terms() const { return used_; }

  private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t letters = 0;  // where they begin, in words of words_
        std::uint32_t length = 0;   // 0: a free slot
        std::uint32_t first = 0;    // node of the first posting
        std::uint32_t last = 0;
    };
    [[nodiscard]] std::string_view letters_of(const Slot& slot) const;
    [[nodiscard]] bool fits(std::size_t words) const { return taken_ + words <= words_.size(); }
    std::uint32_t add_node(Posting posting);

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> words_;  // letters, and nodes of three: posting and next
    std::size_t taken_ = 1;             // 0 stands for no node
    std::size_t used_ = 0;
};

}  // namespace aferir::index

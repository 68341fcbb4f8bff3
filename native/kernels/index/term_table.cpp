#include "index/term_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace aferir::index {
namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr std::size_t kNode = 3;
constexpr std::size_t kMostWords = std::numeric_limits<std::uint32_t>::max();

constexpr std::size_t words_of(std::size_t letters) { return (letters + kWord - 1) / kWord; }

}  // namespace

TermTable::TermTable(std::size_t bytes) : slots_(std::bit_floor(bytes / 4 / sizeof(Slot))) {
    words_.resize(std::min((bytes - slots_.size() * sizeof(Slot)) / kWord, kMostWords));
}

bool TermTable::add(std::string_view term, std::uint64_t hash, Posting posting) {
    const auto last = slots_.size() - 1;
    auto place = hash & last;
    while (slots_[place].length != 0 &&
           (slots_[place].hash != hash || letters_of(slots_[place]) != term)) {
        place = (place + 1) & last;
    }
    auto& slot = slots_[place];
    if (slot.length != 0) {
        if (!fits(kNode)) {
            return false;
        }
        const auto node = add_node(posting);
        words_[slot.last + 2] = node;
        slot.last = node;
        return true;
    }
    // A fourth of the slots stays free, so that looking for a term stays short.
    if ((used_ + 1) * 4 > slots_.size() * 3 || !fits(words_of(term.size()) + kNode)) {
        return false;
    }
    slot = {hash, static_cast<std::uint32_t>(taken_), static_cast<std::uint32_t>(term.size())};
    std::memcpy(&words_[taken_], term.data(), term.size());
    taken_ += words_of(term.size());
    slot.first = slot.last = add_node(posting);
    used_ += 1;
    return true;
}

void TermTable::flush(const Take& take) {
    std::vector<const Slot*> sorted;
    sorted.reserve(used_);
    for (const auto& slot : slots_) {
        if (slot.length != 0) {
            sorted.push_back(&slot);
        }
    }
    std::sort(sorted.begin(), sorted.end(), [this](const Slot* one, const Slot* other) {
        return letters_of(*one) < letters_of(*other);
    });
    std::vector<Posting> postings;
    for (const auto* slot : sorted) {
        postings.clear();
        for (auto node = slot->first; node != 0; node = words_[node + 2]) {
            postings.push_back({words_[node], words_[node + 1]});
        }
        take(letters_of(*slot), postings);
    }
    std::fill(slots_.begin(), slots_.end(), Slot{});
    taken_ = 1;
    used_ = 0;
}

std::string_view TermTable::letters_of(const Slot& slot) const {
    return {reinterpret_cast<const char*>(&words_[slot.letters]), slot.length};
}

std::uint32_t TermTable::add_node(Posting posting) {
    const auto node = static_cast<std::uint32_t>(taken_);
    words_[node] = posting.document;
    words_[node + 1] = posting.occurrences;
    words_[node + 2] = 0;
    taken_ += kNode;
    return node;
}

}  // namespace aferir::index

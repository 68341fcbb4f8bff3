#include "network/trial.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "network/pattern.hpp"

namespace aferir::network {
namespace {

constexpr std::array<std::pair<std::string_view, Mode>, 4> kWords{{
    {"blocking", Mode::kBlocking},
    {"async", Mode::kAsync},
    {"bidirectional", Mode::kBidirectional},
    {"stream", Mode::kStream},
}};

constexpr std::size_t kAlignment = std::size_t{16} * 1024;  // NetPIPE's

std::span<std::byte> aligned(std::span<std::byte> memory, std::size_t bytes) {
    void* start = memory.data();
    auto room = memory.size();
    return {static_cast<std::byte*>(std::align(kAlignment, bytes, start, room)), bytes};
}

// In bidirectional mode each end starts with data of its own.
std::uint64_t seed_of(const Trial& trial, End end) {
    return trial.mode == Mode::kBidirectional && end == End::kResponder ? ~trial.seed : trial.seed;
}

}  // namespace

CorruptData::~CorruptData() = default;

Mode mode_of(std::string_view word) {
    const auto* const found = std::find_if(kWords.begin(), kWords.end(),
                                           [&](const auto& known) { return known.first == word; });
    if (found == kWords.end()) {
        throw UsageError("there is no mode '" + std::string(word) +
                         "'; choose blocking, async, bidirectional or stream");
    }
    return found->second;
}

std::string_view word_of(Mode mode) { return kWords.at(static_cast<std::size_t>(mode)).first; }

std::string corruption(const Trial& trial, std::size_t at, std::string_view end) {
    return "byte " + std::to_string(at) + " of a message of " + std::to_string(trial.bytes) +
           " bytes was wrong at the " + std::string(end) + " after " +
           std::to_string(trial.rounds) + " rounds";
}

Buffers::Buffers(std::size_t most_bytes) {
    require_memory(2 * (most_bytes + kAlignment));
    memory_.resize(2 * (most_bytes + kAlignment));
    const std::span<std::byte> all = memory_;
    first_ = aligned(all.first(all.size() / 2), most_bytes);
    second_ = aligned(all.last(all.size() / 2), most_bytes);
}

void Buffers::prepare(const Trial& trial, End end) {
    const bool one = trial.mode == Mode::kBlocking || trial.mode == Mode::kStream;
    out_ = first_.first(trial.bytes);
    in_ = one ? out_ : second_.first(trial.bytes);
    std::fill(in_.begin(), in_.end(), std::byte{0});
    std::fill(out_.begin(), out_.end(), std::byte{0});
    if (end == End::kInitiator || trial.mode == Mode::kBidirectional) {
        fill_pattern(out_, seed_of(trial, end));
    }
}

std::optional<std::size_t> Buffers::wrong(const Trial& trial, End end) const {
    // Whether the received data is in the buffer to send from, after the last swap. In
    // bidirectional mode each round moves both messages to the other end, so after an odd number
    // they are exchanged.
    const bool home = trial.mode != Mode::kBidirectional || trial.rounds % 2 == 0;
    const auto other = end == End::kInitiator ? End::kResponder : End::kInitiator;
    return first_difference(out_, seed_of(trial, home ? end : other));
}

}  // namespace aferir::network

#include "io/duplicates.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string>

#include "io/file.hpp"
#include "io/hash.hpp"

namespace aferir::io {
namespace {

constexpr std::uint32_t kLeastSegment = 128U << 10U;
constexpr std::uint32_t kMoreSegment = 384U << 10U;

}  // namespace

std::vector<Segment> duplicate_plan(std::uint64_t seed, std::uint64_t bytes, unsigned percent) {
    std::vector<Segment> plan;
    std::vector<Segment> fresh;
    Random random(seed, bytes);
    std::uint64_t repeated = 0;
    for (std::uint64_t sum = 0; sum < bytes;) {
        const bool repeats = !fresh.empty() && repeated * 100 < percent * sum;
        Segment next{fresh.size(), kLeastSegment, repeats};
        if (repeats) {
            const auto chosen = random.below(static_cast<std::uint32_t>(fresh.size()));
            next = {fresh[chosen].document, fresh[chosen].bytes, true};
        } else {
            next.bytes += static_cast<std::uint32_t>(random.below(kMoreSegment));
        }
        next.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(next.bytes, bytes - sum));
        if (!repeats) {
            fresh.push_back(next);
        }
        repeated += repeats ? next.bytes : 0;
        sum += next.bytes;
        plan.push_back(next);
    }
    return plan;
}

std::uint64_t repeated_bytes(std::span<const Segment> plan) {
    std::uint64_t sum = 0;
    for (const auto& segment : plan) {
        sum += segment.repeated ? segment.bytes : 0;
    }
    return sum;
}

std::uint64_t write_duplicates(const std::filesystem::path& path, const TextSource& source,
                               std::span<const Segment> plan, bool forget) {
    Volume unused;
    File file(path, O_WRONLY | O_CREAT | O_EXCL, unused);
    std::string text;
    std::vector<std::uint32_t> drawn;
    std::uint64_t hash = 0;
    for (const auto& segment : plan) {
        source.make(segment.document, segment.bytes, text, drawn);
        text.resize(segment.bytes);
        file.append(std::as_bytes(std::span(text)));
        hash = mix(hash ^ hash_text(text));
    }
    if (forget) {
        file.forget_cache();
    }
    return hash;
}

}  // namespace aferir::io

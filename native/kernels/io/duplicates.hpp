#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "io/text.hpp"

namespace aferir::io {

/// A stretch of a file: the first `bytes` of document `document`, new or seen before.
struct Segment {
    std::uint64_t document;
    std::uint32_t bytes;
    bool repeated;
};

/// Segments of 128 to 512 KiB that make up exactly `bytes`, of which a share of `percent` repeats
/// earlier ones, as nearly as whole segments let it.
std::vector<Segment> duplicate_plan(std::uint64_t seed, std::uint64_t bytes, unsigned percent);

/// Bytes in segments that repeat earlier ones.
std::uint64_t repeated_bytes(std::span<const Segment> plan);

/// Writes the file of a plan. Returns a hash of it.
std::uint64_t write_duplicates(const std::filesystem::path& path, const TextSource& source,
                               std::span<const Segment> plan, bool forget);

}  // namespace aferir::io

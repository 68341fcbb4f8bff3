#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "dedup/archive.hpp"

namespace aferir::dedup {

/// What was found in the data.
struct Found {
    std::uint64_t raw_bytes = 0;
    std::uint64_t chunks = 0;
    std::uint64_t duplicates = 0;  ///< chunks whose content had been there
    std::uint64_t duplicate_bytes = 0;
};

struct Settings {
    int threads = 2;  ///< of each of the three stages in the middle
    int level = 6;    ///< of zlib
};

/// Fragments, each about kFragment bytes, that are under way at a time; the rest of the data waits.
constexpr std::size_t kFragment = 1U << 20U;
std::size_t most_under_way(int threads);

/// Compresses data by deduplication in five stages, after PARSEC's dedup (Bienia et al. 2008):
/// fragment (one thread reads large pieces), refine (content-defined chunks), hash (SHA-256, and
/// has it been there?), compress (those that have not), reorder (one thread writes all in the order
/// of the data). What is written does not depend on the number of threads.
Found deduplicate(const ReadAt& read, const Settings& settings, const ArchiveWriter::Put& put);

}  // namespace aferir::dedup

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "dedup/archive.hpp"

namespace aferir::dedup {

/// Statistics of the data.
struct Found {
    std::uint64_t raw_bytes = 0;
    std::uint64_t chunks = 0;
    std::uint64_t duplicates = 0;  ///< chunks whose content had occurred before
    std::uint64_t duplicate_bytes = 0;
};

struct Settings {
    int threads = 2;  ///< threads of each of the three middle stages
    int level = 6;    ///< zlib's compression level
};

/// Bytes of a fragment, and the number of fragments in the pipeline at a time: the rest waits.
constexpr std::size_t kFragment = 1U << 20U;
std::size_t most_under_way(int threads);

/// Compresses data by deduplication in five stages, after PARSEC's dedup (Bienia et al. 2008):
/// fragment (one thread reads large pieces), refine (content-defined chunks), hash (SHA-256 finds
/// duplicates), compress (all others), reorder (one thread writes all in the order of the data).
/// The output does not depend on the number of threads.
Found deduplicate(const ReadAt& read, const Settings& settings, const ArchiveWriter::Put& put);

}  // namespace aferir::dedup

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "io/file.hpp"
#include "io/text.hpp"

namespace aferir::io {

/// Occurrences of one term in a set of documents; may be in memory that processes share.
struct TermTotal {
    std::uint64_t occurrences = 0;
    std::uint64_t documents = 0;
    std::uint64_t signature = 0;  ///< sum of `signature_of` over the documents

    bool operator==(const TermTotal&) const = default;
};

/// Hash of one posting (a document and how often a term occurs in it). Hashes are added up for each
/// term; equal sums mean equal postings.
std::uint64_t signature_of(std::uint64_t document, std::uint64_t occurrences);

/// Adds a document's terms to totals, which other processes may do at the same time.
void add_document(std::span<TermTotal> totals, std::uint64_t document,
                  std::vector<std::uint32_t>& drawn);

/// Sizes of the documents of a tree of at least `bytes`: 1 to 256 KiB, with uniformly distributed
/// logarithms; 46 KiB on average.
std::vector<std::uint32_t> document_sizes(std::uint64_t seed, std::uint64_t bytes);

/// Path of a document in a tree with 256 documents in each folder and 256 folders in each parent.
std::filesystem::path document_path(const std::filesystem::path& root, std::uint64_t document);

/// Writes every `step`th document from `first` on. Returns their bytes and a hash of them: the sum
/// over documents, so that it does not depend on who wrote which.
struct Written {
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;
};
Written write_documents(const std::filesystem::path& root, const TextSource& source,
                        std::span<const std::uint32_t> sizes, std::size_t first, std::size_t step,
                        std::span<TermTotal> totals, bool forget);

/// Writes one file of at least `bytes` of text, in documents of 1 MiB. Returns the same as
/// write_documents().
Written write_text(const std::filesystem::path& path, const TextSource& source,
                   std::uint64_t first_document, std::uint64_t bytes, std::span<TermTotal> totals,
                   bool forget);

}  // namespace aferir::io

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "index/term_table.hpp"
#include "io/file.hpp"

namespace aferir::index {

/// Postings by term in a file of Berkeley DB: a B-tree whose keys are terms, with a duplicate for
/// each block of postings. Errors: StorageError, OutOfMemory.
class Store {
  public:
    /// Makes the file, or opens an existing one for reading.
    Store(const std::filesystem::path& path, std::uint64_t cache_bytes);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    Store(Store&&) = delete;
    Store& operator=(Store&&) = delete;

    void put(std::string_view term, std::span<const Posting> postings);
    /// Writes all to the device. Returns the volume that passed through the library's cache, in
    /// whole pages.
    io::Counts sync();
    /// Calls `take` for every block of postings, terms in alphabetical order.
    void for_each(const TermTable::Take& take);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
};

}  // namespace aferir::index

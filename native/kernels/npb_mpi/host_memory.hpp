#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/memory.hpp"
#include "npb_mpi/ranks.hpp"

// Memory that the ranks of a host share: made by all of them together, zeroed. Alone, a rank has
// memory of its own. Errors: OutOfMemory where a rank cannot have its pages.

namespace aferir::npb {

/// A mapping, and the bytes from its begin to those that were asked for.
struct HostBytes {
    HugeMapping mapping;
    std::size_t offset;

    template <typename T>
    [[nodiscard]] HugeArray<T> array(std::size_t size) && {
        return {std::move(mapping), offset, size};
    }
};

/// `bytes` that the ranks of a host have in common; each takes an equal part of the pages.
HostBytes common_bytes(const Ranks& ranks, std::size_t bytes);

/// One array that the ranks of a host have in common.
template <typename T>
HugeArray<T> common_array(const Ranks& ranks, std::size_t size) {
    return common_bytes(ranks, size * sizeof(T)).template array<T>(size);
}

/// `bytes` of each rank of a host, which all of them read and write.
class SharedBytes {
  public:
    SharedBytes(const Ranks& ranks, std::size_t bytes);

    /// Of the mate at `place`, aligned to 64 bytes.
    [[nodiscard]] void* of(std::size_t place) const { return parts_[place]; }

  private:
    static HugeMapping map(const Ranks& ranks, std::size_t bytes, std::vector<void*>& parts);

    std::vector<void*> parts_;
    HugeMapping mapping_;
};

/// Numbers of each rank of a host.
template <typename T>
class SharedArray {
  public:
    SharedArray(const Ranks& ranks, std::size_t size) : bytes_(ranks, size * sizeof(T)) {}

    [[nodiscard]] T* of(std::size_t place) const { return static_cast<T*>(bytes_.of(place)); }

  private:
    SharedBytes bytes_;
};

}  // namespace aferir::npb

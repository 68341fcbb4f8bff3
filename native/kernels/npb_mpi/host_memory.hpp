#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/memory.hpp"
#include "npb_mpi/ranks.hpp"

// Memory that the ranks of a host share, zeroed, made by all of them together. A single rank has
// its own memory. Errors: OutOfMemory if the pages of a rank are not available.

namespace aferir::npb {

/// A mapping, and the offset of the requested bytes in it.
struct HostBytes {
    HugeMapping mapping;
    std::size_t offset;

    template <typename T>
    [[nodiscard]] HugeArray<T> array(std::size_t size) && {
        return {std::move(mapping), offset, size};
    }
};

/// `bytes` that the ranks of a host share; each rank allocates an equal part of the pages.
HostBytes common_bytes(const Ranks& ranks, std::size_t bytes);

/// One array that the ranks of a host share.
template <typename T>
HugeArray<T> common_array(const Ranks& ranks, std::size_t size) {
    return common_bytes(ranks, size * sizeof(T)).template array<T>(size);
}

/// `bytes` of each rank of a host, which all of them read and write.
class SharedBytes {
  public:
    SharedBytes(const Ranks& ranks, std::size_t bytes);

    /// Bytes of the rank at `place` on this host, aligned to 64 bytes.
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

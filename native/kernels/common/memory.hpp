#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace aferir {

/// The machine, or the memory limit of our control group, lacks the memory that the problem needs.
class OutOfMemory : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~OutOfMemory() override;
};

/// Bytes that this process may still allocate: the smallest of MemAvailable and what the limits of
/// its control groups (version 1 and 2) leave.
std::size_t available_memory_bytes();

/// Errors: OutOfMemory if `bytes` are not available. Linux overcommits: unchecked, the process
/// would be killed at the first touch, without a message.
void require_memory(std::size_t bytes);
/// Errors: OutOfMemory if `bytes` are more than `available`, which was determined earlier.
void require_memory(std::size_t bytes, std::size_t available);

inline constexpr std::size_t kHugePage = std::size_t{2} << 20U;

/// A mapping on huge pages if the kernel grants them.
class HugeMapping {
  public:
    /// Makes an anonymous mapping.
    explicit HugeMapping(std::size_t bytes);
    /// Maps the first `bytes` of a file, shared with other processes, at the start of a huge page.
    HugeMapping(int file, std::size_t bytes);
    ~HugeMapping();
    HugeMapping(const HugeMapping&) = delete;
    HugeMapping& operator=(const HugeMapping&) = delete;
    HugeMapping(HugeMapping&& other) noexcept;
    HugeMapping& operator=(HugeMapping&& other) noexcept;

    [[nodiscard]] void* data() const { return data_; }

    /// Offset from a huge page's start at which to begin an array, another one each time: arrays
    /// that all began at the start would use the same cache sets and alias in the store buffer (low
    /// 12 bits).
    static std::size_t next_stagger();

  private:
    /// Reserves addresses for `bytes` and one more huge page; returns the start of the first one.
    std::byte* reserve(std::size_t bytes, int protection);

    void* mapping_ = nullptr;
    std::size_t mapped_bytes_ = 0;
    void* data_ = nullptr;
};

/// A large array of plain numbers: zeroed, aligned to at least 64 bytes, and untouched until its
/// first user writes it, so that a parallel first touch places the pages.
template <typename T>
class HugeArray {
    static_assert(std::is_trivial_v<T>);

  public:
    explicit HugeArray(std::size_t size)
        : size_(size), mapping_(size * sizeof(T)), data_(static_cast<T*>(mapping_.data())) {}
    /// An array within a mapping that is large enough, from `offset` bytes on.
    HugeArray(HugeMapping mapping, std::size_t offset, std::size_t size)
        : size_(size),
          mapping_(std::move(mapping)),
          data_(reinterpret_cast<T*>(static_cast<std::byte*>(mapping_.data()) + offset)) {}

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::span<T> span() const { return {data(), size_}; }
    T& operator[](std::size_t index) const { return data()[index]; }

  private:
    std::size_t size_;
    HugeMapping mapping_;
    T* data_;
};

}  // namespace aferir

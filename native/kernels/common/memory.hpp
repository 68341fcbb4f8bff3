#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace aferir {

/// The machine, or the memory limit of our control group, cannot give what the problem needs.
class OutOfMemory : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~OutOfMemory() override;
};

/// Bytes that this process may still take: the least of MemAvailable and what the limits of its
/// control groups (version 1 and 2) leave.
std::size_t available_memory_bytes();

/// Errors: OutOfMemory if `bytes` are not to be had. Linux overcommits, so without asking first
/// the process would be killed at first touch instead of saying why.
void require_memory(std::size_t bytes);

/// An anonymous mapping on huge pages where the kernel grants them.
class HugeMapping {
  public:
    explicit HugeMapping(std::size_t bytes);
    ~HugeMapping();
    HugeMapping(const HugeMapping&) = delete;
    HugeMapping& operator=(const HugeMapping&) = delete;
    HugeMapping(HugeMapping&& other) noexcept;
    HugeMapping& operator=(HugeMapping&& other) noexcept;

    [[nodiscard]] void* data() const { return data_; }

  private:
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
    explicit HugeArray(std::size_t size) : size_(size), mapping_(size * sizeof(T)) {}

    [[nodiscard]] T* data() const { return static_cast<T*>(mapping_.data()); }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::span<T> span() const { return {data(), size_}; }
    T& operator[](std::size_t index) const { return data()[index]; }

  private:
    std::size_t size_;
    HugeMapping mapping_;
};

}  // namespace aferir

#include "common/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "common/memory_limits.hpp"

namespace aferir {
namespace {

constexpr std::size_t kStaggers = 16;
constexpr std::size_t kStaggerBytes = 4096 + 256;

}  // namespace

OutOfMemory::~OutOfMemory() = default;

std::size_t available_memory_bytes() {
    std::ifstream meminfo("/proc/meminfo");
    return std::min(mem_available_bytes(meminfo), cgroup_headroom_bytes("/"));
}

void require_memory(std::size_t bytes) { require_memory(bytes, available_memory_bytes()); }

void require_memory(std::size_t bytes, std::size_t available) {
    if (bytes > available) {
        constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
        throw OutOfMemory("needs " + std::to_string((bytes + kMebibyte - 1) / kMebibyte) +
                          " MiB of memory and " + std::to_string(available / kMebibyte) +
                          " MiB are available; choose a smaller problem or raise the memory limit");
    }
}

std::size_t HugeMapping::next_stagger() {
    static std::atomic<std::size_t> count{0};
    return count++ % kStaggers * kStaggerBytes;
}

std::byte* HugeMapping::reserve(std::size_t bytes, int protection) {
    // Up to a huge page's end; otherwise chance would decide whether the last page is one.
    mapped_bytes_ = (bytes + kHugePage - 1) / kHugePage * kHugePage + kHugePage;
    mapping_ = mmap(nullptr, mapped_bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) {
        mapping_ = nullptr;
        throw OutOfMemory("cannot map " + std::to_string(bytes) +
                          " bytes of memory; choose a smaller problem or raise the memory limit");
    }
    const auto start = reinterpret_cast<std::uintptr_t>(mapping_);
    const auto aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
    return static_cast<std::byte*>(mapping_) + (aligned - start);
}

HugeMapping::HugeMapping(std::size_t bytes) {
    const auto stagger = next_stagger();
    auto* const base = reserve(stagger + bytes, PROT_READ | PROT_WRITE);
    data_ = base + stagger;
    // A refusal (no transparent huge pages here) costs speed only.
    (void)madvise(base, mapped_bytes_ - kHugePage, MADV_HUGEPAGE);
}

HugeMapping::HugeMapping(int file, std::size_t bytes) {
    auto* const base = reserve(bytes, PROT_NONE);
    data_ = mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (data_ == MAP_FAILED) {
        munmap(mapping_, mapped_bytes_);
        throw OutOfMemory("cannot map " + std::to_string(bytes) + " bytes of shared memory");
    }
    (void)madvise(base, bytes, MADV_HUGEPAGE);
}

HugeMapping::~HugeMapping() {
    if (mapping_ != nullptr) {
        munmap(mapping_, mapped_bytes_);
    }
}

HugeMapping::HugeMapping(HugeMapping&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_) {}

HugeMapping& HugeMapping::operator=(HugeMapping&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    return *this;
}

}  // namespace aferir

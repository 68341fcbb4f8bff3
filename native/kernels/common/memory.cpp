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

constexpr std::size_t kHugePage = std::size_t{2} << 20U;
constexpr std::size_t kStaggers = 16;
constexpr std::size_t kStaggerBytes = 4096 + 256;

// Arrays that all begin at a huge page's start would fall on the same cache sets and alias in the
// store buffer (low 12 bits); so each begins a little later than the one before.
std::size_t next_stagger() {
    static std::atomic<std::size_t> count{0};
    return count++ % kStaggers * kStaggerBytes;
}

}  // namespace

OutOfMemory::~OutOfMemory() = default;

std::size_t available_memory_bytes() {
    std::ifstream meminfo("/proc/meminfo");
    return std::min(mem_available_bytes(meminfo), cgroup_headroom_bytes("/"));
}

void require_memory(std::size_t bytes) {
    const auto available = available_memory_bytes();
    if (bytes > available) {
        constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
        throw OutOfMemory("needs " + std::to_string((bytes + kMebibyte - 1) / kMebibyte) +
                          " MiB of memory and " + std::to_string(available / kMebibyte) +
                          " MiB are available; choose a smaller problem or raise the memory limit");
    }
}

HugeMapping::HugeMapping(std::size_t bytes) {
    mapped_bytes_ = bytes + kHugePage + kStaggers * kStaggerBytes;
    mapping_ =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) {
        mapping_ = nullptr;
        throw OutOfMemory("cannot map " + std::to_string(bytes) +
                          " bytes of memory; choose a smaller problem or raise the memory limit");
    }
    const auto start = reinterpret_cast<std::uintptr_t>(mapping_);
    const auto aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
    auto* const base = static_cast<std::byte*>(mapping_) + (aligned - start);
    data_ = base + next_stagger();
    // A refusal (no transparent huge pages here) costs speed only.
    (void)madvise(base, mapped_bytes_ - (aligned - start), MADV_HUGEPAGE);
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

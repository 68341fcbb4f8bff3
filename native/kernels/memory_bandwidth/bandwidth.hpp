#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memory_bandwidth/operations.hpp"

namespace aferir {

/// Parameters of a measurement; without a size, caches and available memory determine it.
struct BandwidthRequest {
    std::optional<std::size_t> array_bytes;
    bool allow_small = false;
    int threads = 1;
    int repetitions = 20;
    Stores stores = Stores::kRegular;
};

/// Bytes of each of the three arrays. Errors: UsageError if arrays of the requested size would fit
/// into the caches, OutOfMemory if `available` bytes cannot hold arrays that do not.
std::size_t choose_array_bytes(const BandwidthRequest& request, std::size_t llc_bytes,
                               std::size_t available);

struct Bandwidths {
    /// Durations by operation, then by repetition, without the first round, which maps the pages.
    std::array<std::vector<double>, kOperations.size()> seconds;
    double duration_s = 0;
    double error = 0;
};

Bandwidths measure_bandwidth(const BandwidthRequest& request, std::size_t array_bytes);

/// The whole program except `main`; returns the exit code.
int memory_bandwidth(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

/// The JSON line; a result whose error is beyond rounding has no figures.
std::string bandwidth_report(const BandwidthRequest& request, std::size_t array_bytes,
                             std::size_t llc_bytes, const Bandwidths& result);

/// Whether every element has the value that arithmetic predicts, up to rounding.
bool is_verified(const Bandwidths& result);

}  // namespace aferir

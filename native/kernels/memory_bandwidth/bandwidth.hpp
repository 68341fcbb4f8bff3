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

/// What is asked for; an absent size is chosen by the caches and the memory there is.
struct BandwidthRequest {
    std::optional<std::size_t> array_bytes;
    bool allow_small = false;
    int threads = 1;
    int repetitions = 20;
    Stores stores = Stores::kRegular;
};

/// Bytes of each of the three arrays. Errors: UsageError if arrays of the size asked for would sit
/// in the caches, OutOfMemory if `available` bytes cannot hold arrays that do not.
std::size_t choose_array_bytes(const BandwidthRequest& request, std::size_t llc_bytes,
                               std::size_t available);

struct Bandwidths {
    /// By operation, then by repetition; the first round, which maps the pages, is left out.
    std::array<std::vector<double>, kOperations.size()> seconds;
    double duration_s = 0;
    double error = 0;
};

Bandwidths measure_bandwidth(const BandwidthRequest& request, std::size_t array_bytes);

/// The program but for `main`; returns the exit code.
int memory_bandwidth(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

/// The JSON line; a result whose error is beyond rounding has no figures.
std::string bandwidth_report(const BandwidthRequest& request, std::size_t array_bytes,
                             std::size_t llc_bytes, const Bandwidths& result);

/// Whether every element was what arithmetic says, up to rounding.
bool is_verified(const Bandwidths& result);

}  // namespace aferir

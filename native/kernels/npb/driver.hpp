#pragma once

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "npb/npb.hpp"

namespace aferir::npb {

/// One kernel compiled for one instruction-set level.
struct Variant {
    std::string_view isa;
    Outcome (*run)(ProblemClass, int threads);
};

/// The value of --class. Errors: UsageError.
ProblemClass read_class(const Arguments& arguments);

/// The instruction-set level that `wanted` names, or the best that this processor has, of those
/// that are `offered`. Errors: UsageError.
std::string_view choose_isa(std::span<const std::string_view> offered,
                            std::optional<std::string_view> wanted);

/// choose_isa for anything that has an `isa`.
template <typename AnyVariant>
const AnyVariant& choose_variant(std::span<const AnyVariant> variants,
                                 std::optional<std::string_view> wanted) {
    std::vector<std::string_view> offered;
    for (const auto& variant : variants) {
        offered.push_back(variant.isa);
    }
    const auto isa = choose_isa(offered, wanted);
    return *std::find_if(variants.begin(), variants.end(),
                         [&](const auto& variant) { return variant.isa == isa; });
}

/// Writes the figures, or without them that and why the run did not verify.
JsonObject& add_outcome(JsonObject& json, const Outcome& outcome);

/// The whole program but for `main`: reads the command line, runs the best variant that this
/// processor can, and prints one JSON line to `out`. Returns the exit code: 0, 1 (unverified),
/// 2 (command line), 3 (not enough memory).
int drive(std::string_view program, std::span<const Variant> variants,
          std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir::npb

#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace aferir {

/// Instruction-set levels that this processor and its kernel can run, best first ("v4", "v3", "v2"
/// on x86-64, "base" elsewhere).
std::vector<std::string_view> usable_isas();

/// The `offered` instruction-set level called `wanted`, or the best one that this processor can
/// run. Errors: UsageError.
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

}  // namespace aferir

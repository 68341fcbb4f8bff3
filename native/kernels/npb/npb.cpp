#include "npb/npb.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace aferir::npb {
namespace {

constexpr std::string_view kLetters = "SWABCD";

}  // namespace

char letter(ProblemClass problem) { return kLetters[static_cast<std::size_t>(problem)]; }

std::optional<ProblemClass> parse_class(std::string_view text) {
    const auto index = text.size() == 1 ? kLetters.find(text) : std::string_view::npos;
    if (index == std::string_view::npos) {
        return std::nullopt;
    }
    return static_cast<ProblemClass>(index);
}

Check compare(std::string_view name, double computed, double reference) {
    const double error = std::abs(computed - reference);
    const double scale = reference == 0 ? 1 : std::abs(reference);
    return {std::string(name), computed, reference, error / scale};
}

bool all_within(const std::vector<Check>& checks, double tolerance) {
    return !checks.empty() && std::all_of(checks.begin(), checks.end(), [&](const Check& check) {
        return check.relative_error <= tolerance;
    });
}

}  // namespace aferir::npb

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aferir::npb {

enum class ProblemClass { S, W, A, B, C, D };

char letter(ProblemClass problem);
std::optional<ProblemClass> parse_class(std::string_view text);

/// A computed value for which the specification publishes a reference.
struct Check {
    std::string name;
    double computed = 0;
    double reference = 0;
    double relative_error = 0;  ///< |computed - reference| / |reference|, absolute if that is 0
};

Check compare(std::string_view name, double computed, double reference);

/// True if there is at least one check and each is within the tolerance; NaN never is.
bool all_within(const std::vector<Check>& checks, double tolerance);

struct Outcome {
    double seconds = 0;     ///< duration of the region that the specification times
    double operations = 0;  ///< as the specification counts them
    bool verified = false;
    int iterations = 0;
    std::vector<Check> checks;
    std::string variant;  ///< name of the algorithm, if NPB has several; else empty
    std::optional<double>
        residual_norm;  ///< norm of the last solution's residual, if the kernel solves a system
};

}  // namespace aferir::npb

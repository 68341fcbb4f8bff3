#pragma once

#include <span>

#include "npb/npb.hpp"

namespace aferir::npb {

struct ComplexNumber {
    double re;
    double im;
};

/// Time steps of the class.
int ft_iterations(ProblemClass problem);

/// Fills in the checks and the verdict: the checksum of every time step within 1e-12.
void verify_ft(ProblemClass problem, std::span<const ComplexNumber> computed, Outcome& outcome);

}  // namespace aferir::npb

#pragma once

#include <span>

#include "npb/npb.hpp"

namespace aferir::npb {

struct ComplexNumber {
    double re;
    double im;
};

/// The published checksums (NPB 3), one for each time step.
std::span<const ComplexNumber> ft_checksums(ProblemClass problem);

}  // namespace aferir::npb

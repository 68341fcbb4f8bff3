#pragma once

// All that main.cpp needs. It is compiled for each kernel, so nothing long is included here.

#include <span>

namespace aferir::npb {

enum class ProblemClass;
struct Outcome;

/// One kernel compiled for one instruction-set level.
struct Variant {
    const char* isa;
    Outcome (*run)(ProblemClass, int threads);
};

/// npb::drive for the arguments of `main`, with standard output and standard error.
int drive_main(const char* program, std::span<const Variant> variants, int count, char** values);

}  // namespace aferir::npb

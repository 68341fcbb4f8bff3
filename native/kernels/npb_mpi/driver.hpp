#pragma once

// All that main.cpp needs. It is compiled for each kernel and MPI, so nothing long is included
// here.

#include <span>

namespace aferir::npb {

enum class ProblemClass;
struct Outcome;
class Ranks;

/// One kernel compiled for one instruction-set level.
struct MpiVariant {
    const char* isa;
    Outcome (*run)(ProblemClass, Ranks& ranks);
};

/// The whole program for the arguments of `main`, as npb::drive. Every rank calls it; rank 0
/// prints.
int drive_mpi(const char* program, const char* mpi, std::span<const MpiVariant> variants, int count,
              char** values);

}  // namespace aferir::npb

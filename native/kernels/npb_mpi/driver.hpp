#pragma once

#include <cstdio>
#include <span>
#include <string_view>

#include "npb/npb.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb {

/// One kernel compiled for one instruction-set level.
struct MpiVariant {
    std::string_view isa;
    Outcome (*run)(ProblemClass, Ranks& ranks);
};

/// The whole program except `main`, as npb::drive. Called by every rank; rank 0 prints.
int drive_mpi(std::string_view program, std::string_view mpi, std::span<const MpiVariant> variants,
              std::span<const std::string_view> given, Ranks& ranks);

}  // namespace aferir::npb

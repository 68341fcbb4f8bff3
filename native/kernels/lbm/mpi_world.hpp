#pragma once

#include <span>
#include <string_view>

#include "lbm/driver.hpp"

namespace aferir::lbm {

/// drive() on all ranks of an MPI program.
int drive_mpi(std::string_view program, std::string_view mpi, std::span<const Variant> variants,
              std::span<const std::string_view> given);

}  // namespace aferir::lbm

#pragma once

#include <filesystem>

#include "common/arguments.hpp"

namespace aferir::checkpoint {

/// Replaces this process by an mpirun of the program for that MPI, which is installed beside this
/// one, with the same options and `folder`. Returns only with an error: StorageError if the
/// launcher or the program is missing.
[[noreturn]] void become_mpirun(const Arguments& arguments, const std::filesystem::path& folder);

}  // namespace aferir::checkpoint

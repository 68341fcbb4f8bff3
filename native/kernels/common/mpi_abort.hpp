#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "common/program.hpp"

namespace aferir {

/// Ends all ranks. What this one wrote on stderr has to be read first: MPICH's launcher (Hydra)
/// passes nothing on that it finds in a pipe after that.
[[noreturn]] inline void abort_ranks(int exit_code) {
    await_reader(stderr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();
}

}  // namespace aferir

#pragma once

#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "common/program.hpp"

namespace aferir {

/// Seconds after which MPI_Finalize is taken to hang: all ranks have met, so it takes milliseconds.
constexpr unsigned kFinalizeLimitS = 10;

/// Calls MPI_Finalize, as all ranks must. If MPICH does not return from it, this process exits with
/// `exit_code`.
///
/// Before 4.2, a rank of MPICH over UCX waits in a barrier of the launcher without reading
/// messages, while another one waits for its answer for ever (MPICH's pull request 6596): of 11
/// programs with two ranks that only met, over TCP, 4 hung.
inline void finalize_ranks([[maybe_unused]] int exit_code) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
    await_reader(stdout);  // the launcher may discard what it has not read when a rank exits
    await_reader(stderr);
    MPI_Barrier(MPI_COMM_WORLD);  // and it may end all ranks once one has exited
    static volatile std::sig_atomic_t code;
    code = exit_code;
    std::signal(SIGALRM, [](int) { _exit(code); });
    alarm(kFinalizeLimitS);
#endif
    MPI_Finalize();
}

}  // namespace aferir

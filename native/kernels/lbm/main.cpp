// Compiled for one process alone, and with AFERIR_MPI once for each MPI.

#include <array>
#include <string_view>
#include <vector>

#include "lbm/driver.hpp"
#if defined(AFERIR_MPI)
#include "lbm/mpi_world.hpp"
#endif

namespace aferir::lbm {

#if defined(__x86_64__) || defined(__i386__)
namespace isa_v2 {
Advance advance;
}
namespace isa_v3 {
Advance advance;
}
namespace isa_v4 {
Advance advance;
}
#else
namespace isa_base {
Advance advance;
}
#endif

namespace {

constexpr std::array kVariants{
#if defined(__x86_64__) || defined(__i386__)
    Variant{"v4", isa_v4::advance},
    Variant{"v3", isa_v3::advance},
    Variant{"v2", isa_v2::advance},
#else
    Variant{"base", isa_base::advance},
#endif
};

}  // namespace
}  // namespace aferir::lbm

int main(int count, char** values) {
    namespace lbm = aferir::lbm;
    const std::vector<std::string_view> given(values + 1, values + count);
#if defined(AFERIR_MPI)
    return lbm::drive_mpi("lattice-boltzmann-mpi", AFERIR_MPI, lbm::kVariants, given);
#else
    return lbm::drive("lattice-boltzmann", "", lbm::kVariants, given, lbm::Alone(), stdout, stderr);
#endif
}

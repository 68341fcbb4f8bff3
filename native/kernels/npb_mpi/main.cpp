// Compiled once for each kernel and MPI, with AFERIR_PROGRAM (its name), AFERIR_MPI and AFERIR_RUN
// (its function); also with AFERIR_ONLY and AFERIR_ONLY_NAMESPACE if the function is compiled for a
// single instruction-set level.

#include <array>

#include "npb_mpi/driver.hpp"

namespace aferir::npb {
namespace {
using Run = Outcome(ProblemClass, Ranks&);
}

#if defined(AFERIR_ONLY)
namespace AFERIR_ONLY_NAMESPACE {
Run AFERIR_RUN;
}
#else
namespace isa_v2 {
Run AFERIR_RUN;
}
namespace isa_v3 {
Run AFERIR_RUN;
}
namespace isa_v4 {
Run AFERIR_RUN;
}
#endif

namespace {

constexpr std::array kVariants{
#if defined(AFERIR_ONLY)
    MpiVariant{AFERIR_ONLY, AFERIR_ONLY_NAMESPACE::AFERIR_RUN},
#else
    MpiVariant{"v4", isa_v4::AFERIR_RUN},
    MpiVariant{"v3", isa_v3::AFERIR_RUN},
    MpiVariant{"v2", isa_v2::AFERIR_RUN},
#endif
};

}  // namespace
}  // namespace aferir::npb

int main(int count, char** values) {
    return aferir::npb::drive_mpi(AFERIR_PROGRAM, AFERIR_MPI, aferir::npb::kVariants, count,
                                  values);
}

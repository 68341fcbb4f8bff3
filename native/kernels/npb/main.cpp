// Compiled once for each kernel, with AFERIR_PROGRAM (its name) and AFERIR_RUN (its function).

#include <array>

#include "npb/program.hpp"

namespace aferir::npb {
namespace {
using Run = Outcome(ProblemClass, int);
}

#if defined(__x86_64__)
namespace isa_v2 {
Run AFERIR_RUN;
}
namespace isa_v3 {
Run AFERIR_RUN;
}
namespace isa_v4 {
Run AFERIR_RUN;
}
#else
namespace isa_base {
Run AFERIR_RUN;
}
#endif

namespace {

constexpr std::array kVariants{
#if defined(__x86_64__)
    Variant{"v4", isa_v4::AFERIR_RUN},
    Variant{"v3", isa_v3::AFERIR_RUN},
    Variant{"v2", isa_v2::AFERIR_RUN},
#else
    Variant{"base", isa_base::AFERIR_RUN},
#endif
};

}  // namespace
}  // namespace aferir::npb

int main(int count, char** values) {
    return aferir::npb::drive_main(AFERIR_PROGRAM, aferir::npb::kVariants, count, values);
}

#include "common/isa.hpp"

#include <string>

#include "common/arguments.hpp"

namespace aferir {

std::vector<std::string_view> usable_isas() {
    std::vector<std::string_view> isas;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    // Feature by feature because GCC knows "x86-64-v3" here only since release 13. For AVX the
    // builtin also asks xgetbv whether the operating system saves the registers.
    const bool v2 = __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("ssse3") != 0 &&
                    __builtin_cpu_supports("popcnt") != 0;
    const bool v3 = v2 && __builtin_cpu_supports("avx2") != 0 &&
                    __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
                    __builtin_cpu_supports("fma") != 0;
    const bool v4 =
        v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0;
    if (v4) {
        isas.emplace_back("v4");
    }
    if (v3) {
        isas.emplace_back("v3");
    }
    if (v2) {
        isas.emplace_back("v2");
    }
#else
    isas.emplace_back("base");
#endif
    return isas;
}

std::string_view choose_isa(std::span<const std::string_view> offered,
                            std::optional<std::string_view> wanted) {
    const auto usable = usable_isas();
    const auto among = [](std::span<const std::string_view> isas, std::string_view isa) {
        return std::find(isas.begin(), isas.end(), isa) != isas.end();
    };
    if (wanted && !among(usable, *wanted)) {
        throw UsageError("--isa " + std::string(*wanted) +
                         " is unknown or more than this processor has; leave it out to get the "
                         "best that it has");
    }
    for (const auto isa : usable) {
        if (among(offered, isa) && (!wanted || *wanted == isa)) {
            return isa;
        }
    }
    throw UsageError("this processor is older than x86-64-v2 (SSE 4.2), the least we build for");
}

}  // namespace aferir

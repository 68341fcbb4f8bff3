#pragma once

#include <string_view>
#include <vector>

namespace aferir {

/// Instruction-set levels that this processor and its kernel can run, best first ("v4", "v3", "v2"
/// on x86-64, "base" elsewhere).
std::vector<std::string_view> usable_isas();

}  // namespace aferir

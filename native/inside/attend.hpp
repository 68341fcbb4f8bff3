#pragma once

#include <string>
#include <vector>

namespace aferir::inside {

// Does what is asked for on `in` and answers on `out`, until `in` ends; then nothing of it is left.
// Commands have `variables` (NAME=VALUE) where the host gives no others of these names.
int attend(int in, int out, std::vector<std::string> variables);

}  // namespace aferir::inside

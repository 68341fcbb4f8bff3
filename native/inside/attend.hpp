#pragma once

#include <string>
#include <vector>

namespace aferir::inside {

// Carries out the requests read from `in` and answers on `out`, until `in` ends; leaves nothing
// behind. Commands get `variables` (NAME=VALUE) unless the host sends others of these names.
int attend(int in, int out, std::vector<std::string> variables);

}  // namespace aferir::inside

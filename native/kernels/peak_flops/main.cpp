#include <cstdio>
#include <string_view>
#include <vector>

#include "peak_flops/peak.hpp"

int main(int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::peak_flops(given, stdout, stderr);
}

#include <cstdio>
#include <string_view>
#include <vector>

#include "core_frequency/frequency.hpp"

int main(int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::core_frequency(given, stdout, stderr);
}

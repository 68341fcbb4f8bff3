#include <cstdio>
#include <string_view>
#include <vector>

#include "memory_bandwidth/bandwidth.hpp"

int main(int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::memory_bandwidth(given, stdout, stderr);
}

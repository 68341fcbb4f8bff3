#include <cstdio>
#include <string_view>
#include <vector>

#include "network_stream/network_stream.hpp"

int main(int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::network_stream(given, stdout, stderr);
}

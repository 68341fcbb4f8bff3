#include <cstdio>
#include <string_view>
#include <vector>

#include "account/watch.hpp"

int main(int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::account::watch(given, stdout, stderr);
}

#include <unistd.h>

#include <string>
#include <vector>

#include "inside/attend.hpp"

// aferir-inside [NAME=VALUE ...]: commands get these variables instead of the program's own;
// without any, its own.
int main(int count, char** values) {
    std::vector<std::string> variables(values + 1, values + count);
    if (variables.empty()) {
        for (char* const* own = environ; own != nullptr && *own != nullptr; ++own) {
            variables.emplace_back(*own);
        }
    }
    return aferir::inside::attend(STDIN_FILENO, STDOUT_FILENO, variables);
}

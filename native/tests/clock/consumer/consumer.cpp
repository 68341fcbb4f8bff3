// Reads the std::chrono clock twice, with the installed headers.
#include <aferir/rvec.hpp>

int main() {
    const auto before = aferir::rvec_clock::now();
    return aferir::rvec_clock::now() > before ? 0 : 1;
}

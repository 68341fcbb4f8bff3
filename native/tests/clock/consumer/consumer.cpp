// Two readings of the std::chrono clock.
#include <aferir/rvec.hpp>

int main() {
    const auto before = aferir::rvec_clock::now();
    return aferir::rvec_clock::now() > before ? 0 : 1;
}

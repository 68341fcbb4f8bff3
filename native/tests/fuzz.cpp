// Runs a fuzzer: with -fsanitize=fuzzer as a libFuzzer target, otherwise with the arguments [cases
// [seed]]. The latter passes the examples to the check, and then `cases` changed ones.
#include "fuzz.hpp"

#include <cstddef>

#ifdef AFERIR_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    aferir::fuzzing::check(std::span(data, size));
    return 0;
}

#else

#include <cstdio>
#include <random>

namespace {

using namespace aferir::fuzzing;

/// Changes an input at up to eight places: bits are flipped, bytes set, pieces removed or repeated,
/// or taken from another input. One input in four is cut or lengthened as well.
void mutate(Bytes& data, std::span<const Bytes> inputs, std::mt19937_64& random) {
    for (auto left = random() % 8; left > 0 && !data.empty(); --left) {
        const auto at = static_cast<std::ptrdiff_t>(random() % data.size());
        const auto end = at + static_cast<std::ptrdiff_t>(
                                  random() % (data.size() - static_cast<std::size_t>(at)) % 16);
        const Bytes& other = inputs[random() % inputs.size()];
        switch (random() % 5) {
            case 0:
                data[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << random() % 8);
                break;
            case 1:
                data[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
                break;
            case 2:
                data.erase(data.begin() + at, data.begin() + end);
                break;
            case 3: {
                const Bytes piece(data.begin() + at, data.begin() + end);
                data.insert(data.begin() + at, piece.begin(), piece.end());
                break;
            }
            default:
                if (!other.empty()) {
                    const auto from = random() % other.size();
                    const auto size = random() % (other.size() - from) % 16;
                    data.insert(data.begin() + at,
                                other.begin() + static_cast<std::ptrdiff_t>(from),
                                other.begin() + static_cast<std::ptrdiff_t>(from + size));
                }
        }
    }
    if (random() % 4 == 0) {
        data.resize(random() % (data.size() + 32));
    }
}

}  // namespace

int main(int count, char** values) {
    const auto cases = count > 1 ? std::strtoull(values[1], nullptr, 10) : 100'000ULL;
    std::mt19937_64 random(count > 2 ? std::strtoull(values[2], nullptr, 10) : 20190001ULL);
    const std::vector<Bytes> inputs = examples();
    for (const Bytes& input : inputs) {
        check(input);
    }
    for (unsigned long long i = 0; i < cases; ++i) {
        Bytes data = inputs[random() % inputs.size()];
        mutate(data, inputs, random);
        check(data);
    }
    std::printf("%llu cases\n", cases);
    return 0;
}

#endif

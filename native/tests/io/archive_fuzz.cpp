// Fuzzes restore() of an archive with arbitrary bytes: archive_fuzz [cases].
//
// Built with -fsanitize=fuzzer this is a libFuzzer target; otherwise it has its own loop of random
// mutations.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "dedup/archive.hpp"
#include "dedup/chunker.hpp"

namespace {

using namespace aferir::dedup;

// The restored data must be as long as restore() says, and no chunk longer than kMostChunk.
void check(std::span<const std::byte> archive) {
    std::uint64_t taken = 0;
    const ReadAt read = [&](std::span<std::byte> to, std::uint64_t offset) {
        const auto from = std::min<std::size_t>(offset, archive.size());
        const auto bytes = std::min(to.size(), archive.size() - from);
        std::copy_n(archive.begin() + static_cast<std::ptrdiff_t>(from), bytes, to.begin());
        return bytes;
    };
    const auto take = [&](std::span<const std::byte> chunk) {
        taken += chunk.size();
        if (chunk.empty() || chunk.size() > kMostChunk) {
            std::abort();
        }
    };
    try {
        if (restore(read, take) != taken) {
            std::abort();
        }
    } catch (const ArchiveError&) {
        return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check(std::as_bytes(std::span(data, size)));
    return 0;
}

#ifndef AFERIR_LIBFUZZER
int main(int count, char** values) {
    const auto cases = count > 1 ? std::strtoull(values[1], nullptr, 10) : 50'000ULL;
    std::mt19937_64 random(20080001);
    Bytes whole;
    ArchiveWriter writer([&](auto part) { whole.insert(whole.end(), part.begin(), part.end()); });
    const Bytes chunk(300, std::byte{7});
    const auto packed = compress(chunk, 6);
    writer.repeat(writer.data(packed, 300), 300);
    writer.data(packed, 300);
    writer.repeat(1, 300);
    writer.finish();
    check(whole);
    for (unsigned long long i = 0; i < cases; ++i) {
        auto data = whole;
        for (auto left = 1 + random() % 4; left > 0; --left) {
            data[random() % data.size()] = static_cast<std::byte>(random());
        }
        if (random() % 4 == 0) {
            data.resize(random() % (data.size() + 16));
        }
        check(data);
    }
    std::printf("%llu cases\n", cases);
    return 0;
}
#endif

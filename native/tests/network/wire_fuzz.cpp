// Any bytes whatever, through the parser of what the network brings.
//
// Built with -fsanitize=fuzzer this is a libFuzzer target; otherwise it brings its own loop of
// random mutations: network_wire_fuzz [cases].

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "network/wire.hpp"

namespace {

using namespace aferir::network;

constexpr std::size_t kHeader = kHeaderBytes;

// What is accepted has to come back as it was, but for unprintable characters of a text.
void check(std::span<const std::byte> data) {
    if (data.size() < kHeader) {
        return;
    }
    try {
        const auto header = parse_header(data.first<kHeader>());
        if (header.length > data.size() - kHeader) {
            return;
        }
        const auto frame = parse_body(header, data.subspan(kHeader, header.length));
        const auto again = encode(frame);
        if (again.size() != kHeader + header.length ||
            (header.kind != 2 && header.kind != 5 &&
             !std::equal(again.begin(), again.end(), data.begin()))) {
            std::abort();
        }
    } catch (const ProtocolError&) {
        return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check(std::as_bytes(std::span(data, size)));
    return 0;
}

#ifndef AFERIR_LIBFUZZER
namespace {

std::vector<std::vector<std::byte>> valid_frames() {
    Start start;
    start.trial = {Mode::kBlocking, 100, 10, 3, true};
    start.clock = SharedClock::kRgap;
    return {encode(Hello{}), encode(Welcome{1, 1, 99}), encode(Refused{"because"}),
            encode(start),   encode(Ready{}),           encode(Done{"", {1, 2}, {3, 4}}),
            encode(Bye{})};
}

}  // namespace

int main(int count, char** values) {
    const auto cases = count > 1 ? std::strtoull(values[1], nullptr, 10) : 100'000ULL;
    std::mt19937_64 random(20190001);
    const auto frames = valid_frames();
    for (const auto& frame : frames) {
        check(frame);
    }
    for (unsigned long long i = 0; i < cases; ++i) {
        auto data = frames[random() % frames.size()];
        for (auto left = random() % 6; left > 0; --left) {
            const auto at = random() % data.size();
            data[at] = random() % 2 == 0 ? data[at] ^ static_cast<std::byte>(1U << random() % 8)
                                         : static_cast<std::byte>(random());
        }
        if (random() % 4 == 0) {
            data.resize(random() % (data.size() + 32));
        }
        check(data);
    }
    std::printf("%llu cases\n", cases);
    return 0;
}
#endif

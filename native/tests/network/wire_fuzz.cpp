// Any bytes whatever, through the parser of what the network brings.
//
// Built with -fsanitize=fuzzer this is a libFuzzer target; otherwise: wire_fuzz [cases [seed]].
#include <algorithm>

#include "fuzz.hpp"
#include "network/wire.hpp"

namespace {

using namespace aferir::network;

constexpr std::size_t kHeader = kHeaderBytes;

// What is accepted has to come back as it was, but for unprintable characters of a text.
void check(std::span<const std::uint8_t> bytes) {
    const auto data = std::as_bytes(bytes);
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
        aferir::fuzzing::require(again.size() == kHeader + header.length);
        aferir::fuzzing::require(header.kind == 2 || header.kind == 5 ||
                                 std::equal(again.begin(), again.end(), data.begin()));
    } catch (const ProtocolError&) {
        return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check(std::span(data, size));
    return 0;
}

#ifndef AFERIR_LIBFUZZER
int main(int count, char** values) {
    Start start;
    start.trial = {Mode::kBlocking, 100, 10, 3, true};
    start.clock = SharedClock::kRgap;
    std::vector<aferir::fuzzing::Bytes> inputs;
    for (const auto& frame :
         {encode(Hello{}), encode(Welcome{1, 1, 99}), encode(Refused{"because"}), encode(start),
          encode(Ready{}), encode(Done{"", {1, 2}, {3, 4}}), encode(Bye{})}) {
        const auto* data = reinterpret_cast<const std::uint8_t*>(frame.data());
        inputs.emplace_back(data, data + frame.size());
    }
    return aferir::fuzzing::fuzz(count, values, inputs, check);
}
#endif

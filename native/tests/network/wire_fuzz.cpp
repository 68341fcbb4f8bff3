// Fuzzes the parser of received messages with arbitrary bytes.
#include <algorithm>

#include "fuzz.hpp"
#include "network/wire.hpp"

using namespace aferir::network;

// An accepted message must be the same when written again, except for unprintable characters of a
// text.
void aferir::fuzzing::check(std::span<const std::uint8_t> bytes) {
    const auto data = std::as_bytes(bytes);
    if (data.size() < kHeaderBytes) {
        return;
    }
    try {
        const auto header = parse_header(data.first<kHeaderBytes>());
        if (header.length > data.size() - kHeaderBytes) {
            return;
        }
        const auto frame = parse_body(header, data.subspan(kHeaderBytes, header.length));
        const auto again = encode(frame);
        require(again.size() == kHeaderBytes + header.length);
        require(header.kind == 2 || header.kind == 5 ||
                std::equal(again.begin(), again.end(), data.begin()));
    } catch (const ProtocolError&) {
        return;
    }
}

std::vector<aferir::fuzzing::Bytes> aferir::fuzzing::examples() {
    Start start;
    start.trial = {Mode::kBlocking, 100, 10, 3, true};
    start.clock = SharedClock::kRgap;
    std::vector<Bytes> inputs;
    for (const auto& frame :
         {encode(Hello{}), encode(Welcome{1, 1, 99}), encode(Refused{"because"}), encode(start),
          encode(Ready{}), encode(Done{"", {1, 2}, {3, 4}}), encode(Bye{})}) {
        const auto* data = reinterpret_cast<const std::uint8_t*>(frame.data());
        inputs.emplace_back(data, data + frame.size());
    }
    return inputs;
}

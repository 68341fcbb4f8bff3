// Fuzzes the reader of manifests: what it does not refuse has segments that can be asked for.
#include <string>

#include "fuzz.hpp"
#include "loadgen/manifest.hpp"
#include "manifests.hpp"

void aferir::fuzzing::check(std::span<const std::uint8_t> data) {
    using namespace aferir::loadgen;
    const std::string text(data.begin(), data.end());
    try {
        const Manifest made = parse_manifest(text);
        require(!made.representations.empty() && made.segments() >= 1);
        double rate = 0.0;
        for (const Representation& one : made.representations) {
            require(one.bits_per_second > 0.0 && one.bits_per_second >= rate);
            rate = one.bits_per_second;
            static_cast<void>(one.segment(made.first + made.segments()));
        }
    } catch (const ManifestError&) {
        return;
    }
}

std::vector<aferir::fuzzing::Bytes> aferir::fuzzing::examples() {
    return {bytes(loadgen::kOfFFmpeg), bytes(loadgen::kInherits)};
}

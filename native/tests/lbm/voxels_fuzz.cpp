// Any bytes whatever as a file of voxels.
//
// Built with -fsanitize=fuzzer this is a libFuzzer target; otherwise: voxels_fuzz [cases [seed]].
#include <algorithm>
#include <sstream>
#include <string>

#include "common/arguments.hpp"
#include "fuzz.hpp"
#include "lbm/geometry.hpp"

namespace {

using namespace aferir;

// What is accepted has a value for each cell, and they are those at the end of the file.
void check(std::span<const std::uint8_t> data) {
    std::istringstream file(std::string(data.begin(), data.end()));
    try {
        const lbm::Geometry read = lbm::read_voxels(file);
        fuzzing::require(read.solid.size() == read.size.cells());
        fuzzing::require(read.fluid_cells() > 0 && read.fluid_cells() <= read.solid.size());
        fuzzing::require(std::ranges::equal(read.solid, data.last(read.solid.size())));
    } catch (const UsageError&) {
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
    const std::string begin = "aferir-voxels 1\n";
    const std::vector<fuzzing::Bytes> inputs = {
        fuzzing::bytes(begin + "2 1 3\n" + std::string("\0\1\0\0\1\1", 6)),
        fuzzing::bytes(begin + "8 4 2\n" + std::string(64, '\0')),
        fuzzing::bytes(begin + " 1\t1 1 \n" + std::string(1, '\0')),
        fuzzing::bytes(begin + "4096 512 1024\n" + std::string(9, '\1'))};
    return fuzzing::fuzz(count, values, inputs, check);
}
#endif

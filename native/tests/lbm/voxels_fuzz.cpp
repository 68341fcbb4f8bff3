// Fuzzes read_voxels() with arbitrary bytes.
#include <algorithm>
#include <sstream>
#include <string>

#include "common/arguments.hpp"
#include "fuzz.hpp"
#include "lbm/geometry.hpp"

// An accepted file has one value for each cell, and these are its last bytes.
void aferir::fuzzing::check(std::span<const std::uint8_t> data) {
    std::istringstream file(std::string(data.begin(), data.end()));
    try {
        const lbm::Geometry read = lbm::read_voxels(file);
        require(read.solid.size() == read.size.cells());
        require(read.fluid_cells() > 0 && read.fluid_cells() <= read.solid.size());
        require(std::ranges::equal(read.solid, data.last(read.solid.size())));
    } catch (const UsageError&) {
        return;
    }
}

std::vector<aferir::fuzzing::Bytes> aferir::fuzzing::examples() {
    const std::string begin = "aferir-voxels 1\n";
    return {bytes(begin + "2 1 3\n" + std::string("\0\1\0\0\1\1", 6)),
            bytes(begin + "8 4 2\n" + std::string(64, '\0')),
            bytes(begin + " 1\t1 1 \n" + std::string(1, '\0')),
            bytes(begin + "4096 512 1024\n" + std::string(9, '\1'))};
}

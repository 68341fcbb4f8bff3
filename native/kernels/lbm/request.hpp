#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/arguments.hpp"
#include "lbm/geometry.hpp"
#include "lbm/solver.hpp"

namespace aferir::lbm {

/// Parameters from the command line.
struct Request {
    std::string geometry;
    Physics physics;
    int steps = 0;  ///< 0: until the flow is steady
    int threads = 1;
    int block_steps = 0;
    int tile = 0;
    bool with_roofline = false;
};

std::span<const std::string_view> option_names();
std::span<const std::string_view> option_flags();

/// Reads the options. Errors: UsageError.
Request read_request(const Arguments& arguments);

/// Makes the geometry that the options describe. Errors: UsageError.
Geometry make_geometry(const Arguments& arguments);

std::string help(std::string_view program, std::string_view isas);

}  // namespace aferir::lbm

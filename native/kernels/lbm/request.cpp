#include "lbm/request.hpp"

#include <omp.h>

#include <array>
#include <charconv>
#include <cmath>

namespace aferir::lbm {
namespace {

constexpr std::array<std::string_view, 14> kNames{
    "--geometry", "--size",    "--fraction",  "--diameter", "--number",      "--voxels", "--ends",
    "--steps",    "--threads", "--viscosity", "--isa",      "--block-steps", "--tile",   "--edge"};
constexpr std::array<std::string_view, 2> kFlags{"--help", "--roofline"};

constexpr int kMostEdge = 1 << 14;

double real(const Arguments& arguments, std::string_view name, double otherwise, double least,
            double most) {
    const auto text = arguments.value(name);
    if (!text) {
        return otherwise;
    }
    double number = 0;
    const auto* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc{} || stop != end || std::isnan(number) || number < least ||
        number > most) {
        throw UsageError(std::string(name) + " is '" + std::string(*text) +
                         "'; give a number from " + std::to_string(least) + " to " +
                         std::to_string(most));
    }
    return number;
}

Size read_size(const Arguments& arguments) {
    const auto text = arguments.value("--size").value_or("64x64x64");
    std::array<int, 3> edges{};
    const char* place = text.data();
    const char* const end = text.data() + text.size();
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto [stop, error] = std::from_chars(place, end, edges[axis]);
        const bool last = axis == 2;
        if (error != std::errc{} || edges[axis] < 1 || edges[axis] > kMostEdge ||
            (last ? stop != end : stop == end || *stop != 'x')) {
            throw UsageError("--size is '" + std::string(text) +
                             "'; give length x height x width in cells, e.g. 64x64x64");
        }
        place = stop + (last ? 0 : 1);
    }
    return {edges[0], edges[1], edges[2]};
}

int cube_edge(Size size) {
    if (size.x != size.y || size.x != size.z) {
        throw UsageError("an ordered packing is a cube; give --size 64x64x64 or another cube");
    }
    return size.x;
}

Geometry named_geometry(std::string_view name, const Arguments& arguments) {
    const auto size = read_size(arguments);
    const double fraction = real(arguments, "--fraction", 0.2, 0, 0.99);
    const auto whole = [&](std::string_view option, int otherwise) {
        return static_cast<int>(arguments.integer(option, otherwise, 2, kMostEdge));
    };
    if (name == "slit") {
        return make_slit(size.x, size.y, size.z);
    }
    if (name == "duct") {
        return make_duct(size.x, size.y, size.z);
    }
    if (name == "sc") {
        return make_spheres(Packing::kSimpleCubic, cube_edge(size), fraction);
    }
    if (name == "bcc") {
        return make_spheres(Packing::kBodyCentred, cube_edge(size), fraction);
    }
    if (name == "fcc") {
        return make_spheres(Packing::kFaceCentred, cube_edge(size), fraction);
    }
    if (name == "packing") {
        const auto number = arguments.integer("--number", 1, 0, 1LL << 62);
        return make_random_packing(size, whole("--diameter", 16), fraction,
                                   static_cast<std::uint64_t>(number));
    }
    if (name == "blocks") {
        return make_blocks(size, whole("--edge", 16));
    }
    throw UsageError("say --geometry slit, duct, sc, bcc, fcc, packing, blocks or file");
}

}  // namespace

std::span<const std::string_view> option_names() { return kNames; }
std::span<const std::string_view> option_flags() { return kFlags; }

Request read_request(const Arguments& arguments) {
    constexpr int kMostSteps = 100'000'000;
    Request request;
    request.geometry = arguments.value("--geometry").value_or("");
    request.threads =
        static_cast<int>(arguments.integer("--threads", omp_get_num_procs(), 1, 4096));
    request.steps = static_cast<int>(arguments.integer("--steps", 0, 0, kMostSteps));
    request.steps += request.steps % 2;
    request.block_steps = static_cast<int>(arguments.integer("--block-steps", 0, 0, 64));
    request.tile = static_cast<int>(arguments.integer("--tile", 0, 0, kMostEdge));
    request.with_roofline = arguments.has("--roofline");
    request.physics.viscosity = real(arguments, "--viscosity", 1.0, 0.001, 10);
    const auto ends = arguments.value("--ends").value_or("periodic");
    if (ends != "periodic" && ends != "pressure") {
        throw UsageError("--ends is '" + std::string(ends) + "'; choose periodic or pressure");
    }
    return request;
}

Geometry make_geometry(const Arguments& arguments) {
    const auto name = arguments.value("--geometry").value_or("");
    const auto path = arguments.value("--voxels");
    if (path.has_value() != (name == "file")) {
        throw UsageError("--geometry file and --voxels PATH belong together");
    }
    auto geometry =
        path ? read_voxels(std::filesystem::path(*path)) : named_geometry(name, arguments);
    if (arguments.value("--ends") == "pressure") {
        geometry.ends = Ends::kPressure;
    }
    return geometry;
}

std::string help(std::string_view program, std::string_view isas) {
    return "usage: " + std::string(program) + " --geometry NAME [options]\n" +
           "Flow through a porous medium by the lattice Boltzmann method; prints one line of "
           "JSON.\n"
           "  --geometry   slit, duct: channels; sc, bcc, fcc: ordered spheres; packing: random\n"
           "               spheres; blocks: cubes; file: of --voxels PATH\n"
           "  --size       length x height x width in cells (default: 64x64x64)\n"
           "  --fraction   the spheres' share of the volume (default: 0.2)\n"
           "  --diameter   of random spheres (default: 16)\n"
           "  --number     what random spheres are made from (default: 1)\n"
           "  --edge       of cubes (default: 16)\n"
           "  --ends       periodic (a force drives the flow; default) or pressure\n"
           "  --viscosity  in lattice units (default: 1)\n"
           "  --steps      time steps (default: until the flow is steady)\n"
           "  --threads    OpenMP threads of each process (default: all its processors)\n"
           "  --block-steps, --tile  time steps and rows in one pass over the memory (default: "
           "what\n"
           "               the caches hold; 1: no blocking)\n"
           "  --roofline   measure the memory's bandwidth, too\n"
           "  --isa        instruction-set level: " +
           std::string(isas) +
           " (default: the best that this processor has)\n"
           "exit code: 0 verified, 1 not verified, 2 wrong command line, 3 not enough memory";
}

}  // namespace aferir::lbm

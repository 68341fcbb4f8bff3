#include "lbm/driver.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/isa.hpp"
#include "common/json.hpp"
#include "common/program.hpp"
#include "lbm/blocking_check.hpp"
#include "lbm/flow.hpp"
#include "lbm/reference.hpp"
#include "lbm/request.hpp"
#include "lbm/roofline.hpp"
#include "memory_bandwidth/cache.hpp"
#include "npb/driver.hpp"

namespace aferir::lbm {
namespace {

struct Names {
    std::string_view program;
    std::string_view mpi;
    std::string_view isa;
};

/// Cache in bytes that a thread may fill: its share of half of the last-level caches.
double cache_share(int threads) {
    const auto bytes = static_cast<double>(last_level_cache_bytes("/"));
    return bytes / 2 / std::max(threads, omp_get_num_procs());
}

void add_setting(JsonObject& json, const Names& names, const Request& request,
                 const Geometry& geometry, const World& world) {
    json.text("program", names.program).text("geometry", request.geometry);
    json.integer("processes", world.count()).integer("threads", request.threads);
    if (!names.mpi.empty()) {
        json.text("mpi", names.mpi);
    }
    const auto fluid = geometry.fluid_cells();
    json.text("isa", names.isa)
        .text("ends", geometry.ends == Ends::kPressure ? "pressure" : "periodic")
        .integer("cells", geometry.solid.size())
        .integer("fluid_cells", fluid)
        .number("porosity", static_cast<double>(fluid) / static_cast<double>(geometry.solid.size()))
        .number("viscosity", request.physics.viscosity);
}

/// Reason why the run has no figures; empty if it is verified.
std::string doubt(const Flow& flow, const Geometry& geometry, double kernel_error) {
    if (!(kernel_error <= kKernelTolerance)) {
        return "the kernels differ from the reference by " + std::to_string(kernel_error) +
               " of the populations; the result is worthless";
    }
    if (!(flow.blocking_error <= kBlockingTolerance)) {
        return "blocks of time steps differ from one step at a time by " +
               std::to_string(flow.blocking_error) + " of the populations; the result is worthless";
    }
    if (!(flow.mass_error <= kMassTolerance)) {
        return "mass was not conserved; the result is worthless";
    }
    if (flow.wanted_steady && !flow.steady) {
        return "the flow was not steady after " + std::to_string(flow.steps) +
               " steps; choose a greater --viscosity or a smaller box";
    }
    if (flow.steady && geometry.permeability &&
        !(std::abs(flow.permeability / *geometry.permeability - 1) <= kPermeabilityTolerance)) {
        return "the permeability " + std::to_string(flow.permeability) +
               " differs from the known " + std::to_string(*geometry.permeability) +
               " by more than 1 %; choose a finer lattice";
    }
    return "";
}

void add_speed(JsonObject& json, const Flow& flow, const Roofline& roofline) {
    const double updates = flow.updates / flow.seconds;
    json.integer("steps", flow.steps)
        .number("duration_s", flow.seconds)
        .number("mflups", updates / 1e6)
        .number("gflops", updates * kOperationsPerUpdate / 1e9)
        .number("bytes_per_update", flow.bytes_per_update)
        .number("imbalance", flow.imbalance)
        .integer("block_steps", flow.block_steps)
        .integer("tile", flow.tile);
    if (roofline.bytes_per_second > 0) {
        json.number("bandwidth_bps", roofline.bytes_per_second)
            .number("roofline_fraction",
                    updates * flow.bytes_per_update / roofline.bytes_per_second);
    }
}

void add_flow(JsonObject& json, const Flow& flow, const Geometry& geometry) {
    json.boolean("steady", flow.steady)
        .number("mass_error", flow.mass_error)
        .number("blocking_error", flow.blocking_error);
    if (flow.steady) {
        json.number("permeability_cells2", flow.permeability);
    }
    if (flow.steady && geometry.permeability) {
        json.number("known_permeability_cells2", *geometry.permeability)
            .number("permeability_error", std::abs(flow.permeability / *geometry.permeability - 1));
    }
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

int run(const Names& names, const Variant& variant, const Arguments& arguments, const World& world,
        std::FILE* out) {
    auto request = read_request(arguments);
    const auto geometry = make_geometry(arguments);
    const Execution execution{variant.advance, request.threads, request.block_steps, request.tile,
                              cache_share(request.threads)};
    request.physics.drive = drive_of(geometry);
    omp_set_dynamic(0);
    const double kernel_error = check_kernels(execution, world);
    const auto flow = let_flow(geometry, request.physics, execution, world, request.steps);
    const auto roofline =
        request.with_roofline ? measure_roofline(request.threads, world) : Roofline{};
    const auto why = doubt(flow, geometry, kernel_error);
    if (world.id() == 0) {
        JsonObject json;
        add_setting(json, names, request, geometry, world);
        if (why.empty()) {
            add_speed(json, flow, roofline);
            add_flow(json, flow, geometry);
        }
        json.number("kernel_error", kernel_error).boolean("verified", why.empty());
        print_line(out, why.empty() ? json.str() : json.text("error", why).str());
    }
    return why.empty() ? kVerified : kUnverified;
}

std::string joined(std::span<const Variant> variants) {
    std::string isas;
    for (const auto& variant : variants) {
        isas += (isas.empty() ? "" : ", ") + std::string(variant.isa);
    }
    return isas;
}

}  // namespace

double Alone::seconds() const { return omp_get_wtime(); }

std::unique_ptr<Exchange> Alone::exchange(const Cells& /*cells*/) const { return nullptr; }

int drive(std::string_view program, std::string_view mpi, std::span<const Variant> variants,
          std::span<const std::string_view> given, const World& world, std::FILE* out,
          std::FILE* err) {
    // An error in the command line is the same for all ranks, and reported once.
    const std::unique_ptr<std::FILE, CloseFile> silence(std::fopen("/dev/null", "w"));
    return run_program(program, world.id() == 0 || !silence ? err : silence.get(), [&] {
        const Arguments arguments(given, option_names(), option_flags());
        if (arguments.has("--help")) {
            if (world.id() == 0) {
                print_line(out, help(program, joined(variants)));
            }
            return static_cast<int>(kVerified);
        }
        const auto& variant = choose_variant(variants, arguments.value("--isa"));
        return run({program, mpi, variant.isa}, variant, arguments, world, out);
    });
}

}  // namespace aferir::lbm

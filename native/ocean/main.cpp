// A proxy of an ocean model's barotropic mode under disturbances: docs/guides/ocean-proxy.md.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "common/memory.hpp"
#include "common/mpi_abort.hpp"
#include "common/mpi_finalize.hpp"
#include "common/program.hpp"
#include "ocean/arms.hpp"
#include "ocean/manufactured.hpp"

namespace aferir::ocean {
namespace {

constexpr const char* kProgram = "ocean";
constexpr std::string_view kUsage =
    "usage: mpirun -n N ocean [OPTIONS]\n"
    "Computes a proxy of an ocean model's barotropic mode beside daemons that disturb it; rank 0\n"
    "prints one line of JSON.\n"
    "  --nx N, --ny N         cells (384, 256); multiples of 32 and 8\n"
    "  --solver chronopoulos-gear|pcg   one or two global sums an iteration (chronopoulos-gear)\n"
    "  --tolerance-exponent N the residual falls by 10^-N (10)\n"
    "  --most-iterations N    of the solver in a step (10000)\n"
    "  --steps N, --rounds N  time steps of an arm, and how often each arm runs (20, 2)\n"
    "  --courant N            Courant number of a step (10)\n"
    "  --check                only how fast it converges as the grid gets finer\n"
    "  --helper PATH          program of the daemons (ocean-helper beside this one)\n"
    "  --nodes N              groups of ranks with a daemon and a clock each (1)\n"
    "  --daemon own|chronyd   what sets clocks (own)\n"
    "  --ntp-period-us N, --ntp-exchanges N     how often it asks (100000), and messages (4)\n"
    "  --noise-period-us N, --noise-work-us N   how often noise comes (100000), how long (2500)\n"
    "exit code: 0 verified, 1 not, 2 wrong command line, 3 not enough memory";
constexpr std::array<std::string_view, 15> kNames{"--nx",
                                                  "--ny",
                                                  "--solver",
                                                  "--steps",
                                                  "--rounds",
                                                  "--courant",
                                                  "--tolerance-exponent",
                                                  "--most-iterations",
                                                  "--nodes",
                                                  "--helper",
                                                  "--ntp-period-us",
                                                  "--ntp-exchanges",
                                                  "--noise-period-us",
                                                  "--noise-work-us",
                                                  "--daemon"};
constexpr std::array<std::string_view, 2> kFlags{"--check", "--help"};
constexpr double kDeepest = 4000;  ///< m, for the speed of waves
constexpr double kDrag = 1e-5;     ///< 1/s
constexpr double kWind = 1e-4;     ///< m^2/s^2: a stress of 0.1 Pa
constexpr double kLeastOrder = 1.8;
constexpr double kMostOrder = 2.2;
constexpr double kVolumeTolerance = 1e-12;
constexpr double kResidualSlack = 10;  ///< times the tolerance: rounding in the recurrence

struct Options {
    Shape shape;
    Solving solving;
    double courant = 10;
    int steps = 20;
    int rounds = 2;
    bool checks_alone = false;
    Disturbances disturbances;
};

Options read_options(const Arguments& arguments) {
    constexpr long long kMostUs = 1000000000;
    const auto integer = [&](std::string_view name, int otherwise, int least, int most) {
        return static_cast<int>(arguments.integer(name, otherwise, least, most));
    };
    Options options;
    options.shape = {integer("--nx", 384, kTileX, 1 << 20), integer("--ny", 256, kTileY, 1 << 20)};
    if (options.shape.nx % kTileX != 0 || options.shape.ny % kTileY != 0) {
        throw UsageError("--nx has to be a multiple of 32, --ny one of 8");
    }
    const auto solver = arguments.value("--solver").value_or("chronopoulos-gear");
    if (solver != "chronopoulos-gear" && solver != "pcg") {
        throw UsageError("--solver is chronopoulos-gear or pcg");
    }
    options.solving = {.method = solver == "pcg" ? Method::kClassic : Method::kChronopoulosGear,
                       .tolerance = std::pow(10.0, -integer("--tolerance-exponent", 10, 1, 13)),
                       .most_iterations = integer("--most-iterations", 10000, 1, 1000000)};
    options.courant = integer("--courant", 10, 1, 1000);
    options.steps = integer("--steps", 20, 1, 1000000);
    options.rounds = integer("--rounds", 2, 1, 10000);
    options.checks_alone = arguments.has("--check");
    auto& d = options.disturbances;
    d.helper = std::string(arguments.value("--helper").value_or(""));
    const auto daemon = arguments.value("--daemon").value_or("own");
    if (daemon != "own" && daemon != "chronyd") {
        throw UsageError("--daemon is own or chronyd");
    }
    d.chronyd = daemon == "chronyd";
    d.nodes = integer("--nodes", 1, 1, 1024);
    d.ntp_period_us = arguments.integer("--ntp-period-us", d.ntp_period_us, 100, kMostUs);
    d.ntp_exchanges = arguments.integer("--ntp-exchanges", d.ntp_exchanges, 1, 100);
    d.noise_period_us = arguments.integer("--noise-period-us", d.noise_period_us, 100, kMostUs);
    d.noise_work_us = arguments.integer("--noise-work-us", d.noise_work_us, 0, kMostUs);
    return options;
}

Physics physics_of(const Geometry& geometry, double courant) {
    Physics physics;
    physics.step_s = courant * geometry.north_distance() / std::sqrt(kGravity * kDeepest);
    physics.drag = kDrag;
    physics.wind = kWind;
    physics.elevation = [](double longitude, double latitude) {
        return 0.5 * std::cos(2 * longitude) * std::cos(3 * latitude) +
               0.1 * std::sin(7 * latitude);
    };
    return physics;
}

/// Reasons to doubt the results; empty if there are none.
class Doubts {
  public:
    void require(bool holds, const std::string& otherwise) {
        if (!holds && text_.empty()) {
            text_ = otherwise;
        }
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string text_;
};

std::string brief(double value) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.3g", value);
    return digits.data();
}

bool is_second_order(const Convergence& convergence) {
    return convergence.order() > kLeastOrder && convergence.order() < kMostOrder;
}

double check_operator(const Options& options, int ranks, Doubts& doubts) {
    const auto found =
        elliptic_convergence(MPI_COMM_WORLD, options.solving.method, coarse_shape(ranks));
    doubts.require(is_second_order(found),
                   "the operator converges with order " + brief(found.order()) + ", not 2");
    return found.order();
}

double check_wave(const Options& options, int ranks, Doubts& doubts) {
    const auto found =
        wave_convergence(MPI_COMM_WORLD, options.solving.method, coarse_shape(ranks));
    doubts.require(is_second_order(found),
                   "time steps converge with order " + brief(found.order()) + ", not 2");
    return found.order();
}

std::string list(const std::vector<double>& values) {
    std::string text;
    for (const double value : values) {
        std::array<char, 32> digits{};
        const auto [end, error] =
            std::to_chars(digits.data(), digits.data() + digits.size(), value);
        text += (text.empty() ? "" : ",") + std::string(digits.data(), end);
    }
    return "[" + text + "]";
}

template <typename Figure>
std::string list(const std::vector<ArmRun>& runs, const Figure& figure) {
    std::vector<double> values;
    values.reserve(runs.size());
    for (const ArmRun& run : runs) {
        values.push_back(figure(run));
    }
    return list(values);
}

/// Lists with an entry for each round; steps_s has all rounds' steps in a row. Errors of clocks are
/// known where all ranks read one true time.
std::string described(Arm arm, const std::vector<ArmRun>& runs, bool errors_known) {
    const auto known = errors_known ? runs : std::vector<ArmRun>();
    std::vector<double> steps;
    for (const ArmRun& run : runs) {
        steps.insert(steps.end(), run.steps_s.begin(), run.steps_s.end());
    }
    return JsonObject()
        .text("name", name_of(arm))
        .raw("duration_s", list(runs, [](const auto& run) { return run.duration_s; }))
        .raw("sums_share", list(runs, [](const auto& run) { return run.sums_share; }))
        .raw("halos_share", list(runs, [](const auto& run) { return run.halos_share; }))
        .raw("clock_error_s", list(known, [](const auto& run) { return run.clock_error_s; }))
        .raw("steps_error_s", list(known, [](const auto& run) { return run.steps_error_s; }))
        .raw("helpers_cpu_s", list(runs, [](const auto& run) { return run.helpers_cpu_s; }))
        .raw("wake_ups", list(runs, [](const auto& run) { return run.wake_ups; }))
        .raw("messages", list(runs, [](const auto& run) { return run.messages; }))
        .raw("steps_s", list(steps))
        .str();
}

bool time_is_global() {
    int* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, static_cast<void*>(&value), &found);
    return found != 0 && *value != 0;
}

/// Runs all arms, after one run whose results are discarded, and adds the results to `out`.
void run_arms(const Options& options, Messages& messages, Doubts& doubts, JsonObject& out) {
    const Geometry geometry(options.shape);
    Model model(messages, geometry, physics_of(geometry, options.courant), options.solving);
    Arms arms(messages, model, options.disturbances);
    const auto before = model.volume();
    const ArmRun first = arms.run(Arm::kRgap, options.steps);
    const auto after = model.volume();
    const double drift = std::abs(after.sum - before.sum) / before.magnitude;
    doubts.require(drift < kVolumeTolerance, "volume changed by " + brief(drift));
    const double residual = model.true_residual();
    doubts.require(residual < kResidualSlack * options.solving.tolerance,
                   "the last residual, recomputed, is " + brief(residual));
    std::array<std::vector<ArmRun>, kArms> runs;
    bool converged = first.converged;
    bool alike = true;
    for (int round = 0; round < options.rounds; ++round) {
        for (const Arm arm : order_of(round)) {
            auto& kept = runs[static_cast<std::size_t>(arm)];
            kept.push_back(arms.run(arm, options.steps));
            converged = converged && kept.back().converged;
            alike = alike && kept.back().fingerprint == first.fingerprint;
        }
    }
    doubts.require(converged, "the solver did not converge");
    doubts.require(alike, "two runs of the same steps gave different elevations");
    std::string described_arms;
    for (int arm = 0; arm < kArms; ++arm) {
        described_arms += (arm > 0 ? "," : "") + described(static_cast<Arm>(arm),
                                                           runs[static_cast<std::size_t>(arm)],
                                                           arms.places().one_kernel);
    }
    std::array<char, 20> state{};
    std::snprintf(state.data(), state.size(), "%016llx",
                  static_cast<unsigned long long>(first.fingerprint));
    out.number("iterations", static_cast<double>(first.iterations) / options.steps)
        .number("residual", residual)
        .number("volume_drift", drift)
        .text("state", state.data())
        .integer("hosts", arms.places().hosts)
        .boolean("one_kernel", arms.places().one_kernel)
        .text("daemon", options.disturbances.chronyd ? "chronyd" : "own")
        .integer("steered_hosts", arms.steered())
        .raw("arms", "[" + described_arms + "]");
}

int finish(const Doubts& doubts, const JsonObject& good, JsonObject bad, int rank) {
    if (rank == 0) {
        print_line(stdout,
                   doubts.text().empty() ? good.str() : bad.text("error", doubts.text()).str());
    }
    return doubts.text().empty() ? kVerified : kUnverified;
}

int run(std::span<const std::string_view> given) {
    int ranks = 1;
    int rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const Arguments arguments(given, kNames, kFlags);
    if (arguments.has("--help")) {
        if (rank == 0) {
            print_line(stdout, kUsage);
        }
        return kVerified;
    }
    const Options options = read_options(arguments);
    const auto split = split_of(options.shape, ranks);
    if (!split) {
        throw UsageError(std::to_string(ranks) + " processes do not fit " +
                         std::to_string(options.shape.nx) + " x " +
                         std::to_string(options.shape.ny) +
                         " cells in parts of whole tiles of 32 x 8; take another number");
    }
    Doubts doubts;
    JsonObject out;
    out.text("program", kProgram)
        .integer("processes", ranks)
        .integer("nx", options.shape.nx)
        .integer("ny", options.shape.ny)
        .boolean("global_time", time_is_global());
    JsonObject bad = out;
    bad.boolean("verified", false);
    out.number("order", check_operator(options, ranks, doubts));
    if (options.checks_alone) {
        out.number("wave_order", check_wave(options, ranks, doubts));
    } else {
        Messages messages(MPI_COMM_WORLD, options.shape, *split);
        require_memory(static_cast<std::size_t>(ranks) * Model::kArrays * sizeof(double) *
                       messages.layout().size());
        run_arms(options, messages, doubts, out);
    }
    out.boolean("verified", true);
    return finish(doubts, out, bad, rank);
}

/// An error on one rank would leave the others waiting for it.
int guarded(std::span<const std::string_view> given) {
    int code = kUnverified;
    try {
        code = run_program(kProgram, stderr, [&] { return run(given); });
    } catch (const std::exception& error) {
        print_line(stderr, std::string(kProgram) + ": " + error.what());
    }
    if (code == kVerified || code == kUnverified) {
        return code;
    }
    abort_ranks(code);
}

}  // namespace
}  // namespace aferir::ocean

int main(int count, char** values) {
    MPI_Init(&count, &values);
    const std::vector<std::string_view> given(values + 1, values + count);
    const int code = aferir::ocean::guarded(given);
    aferir::finalize_ranks(code);
    return code;
}

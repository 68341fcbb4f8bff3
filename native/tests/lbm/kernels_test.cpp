#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "common/isa.hpp"
#include "lbm/blocking_check.hpp"
#include "lbm/collide.hpp"
#include "lbm/driver.hpp"
#include "lbm/flow.hpp"
#include "lbm/reference.hpp"

namespace aferir::lbm {

#if defined(__x86_64__)
namespace isa_v2 {
Advance advance;
}
namespace isa_v3 {
Advance advance;
}
namespace isa_v4 {
Advance advance;
}
#else
namespace isa_base {
Advance advance;
}
#endif

namespace {

constexpr std::array kVariants{
#if defined(__x86_64__)
    Variant{"v2", isa_v2::advance},
    Variant{"v3", isa_v3::advance},
    Variant{"v4", isa_v4::advance},
#else
    Variant{"base", isa_base::advance},
#endif
};

/// A number type that counts the operations done with it.
struct Counted {
    double value = 0;
    static inline int operations = 0;

    friend Counted operator+(Counted a, Counted b) { return count(a.value + b.value); }
    friend Counted operator-(Counted a, Counted b) { return count(a.value - b.value); }
    friend Counted operator*(Counted a, Counted b) { return count(a.value * b.value); }
    static Counted count(double result) {
        ++operations;
        return {result};
    }
};

TEST(Kernels, AnUpdateHasTheOperationsThatGflopsAreReckonedWith) {
    std::array<Counted, kDirections> f{};
    const auto k = constants<Counted>(relaxation(0.1), 1, [](double x) { return Counted{x}; });
    Counted::operations = 0;
    collide(f, k);
    EXPECT_EQ(Counted::operations, kOperationsPerUpdate);
}

TEST(Kernels, AgreeWithTheReferenceOnEveryProcessorLevelAndBlocking) {
    const Alone world;
    const auto usable = usable_isas();
    for (const auto& variant : kVariants) {
        if (std::find(usable.begin(), usable.end(), variant.isa) == usable.end()) {
            continue;
        }
        for (const int threads : {1, 2, 5}) {
            for (const int steps : {1, 2, 4, 6}) {
                const Execution execution{variant.advance, threads, steps, 0, 0};
                EXPECT_LE(check_kernels(execution, world), kKernelTolerance)
                    << variant.isa << ", " << threads << " threads, " << steps << " steps";
            }
        }
    }
}

void half_a_percent_too_viscous(const Work& work, int steps) {
    auto other = work;
    other.rates.even *= 0.995;
    kVariants[0].advance(other, steps);
}

void a_step_left_out(const Work& work, int steps) { kVariants[0].advance(work, steps - 2); }

TEST(Kernels, ThatAreWrongAreFoundOut) {
    const Alone world;
    for (Advance* const wrong : {&half_a_percent_too_viscous, &a_step_left_out}) {
        EXPECT_GT(check_kernels({wrong, 2, 0, 0, 1e6}, world), 1e-6);
    }
}

/// A wrong schedule that would be fastest: the seams between the threads' slabs are not computed.
void seams_left_out(const Work& work, int steps) {
    auto other = work;
    for (auto& seam : other.schedule.seams) {
        seam.clear();
    }
    kVariants[0].advance(other, steps);
}

/// A wrong schedule: the wedge around y = 0 is computed before the rows that it needs.
void in_the_wrong_order(const Work& work, int steps) {
    auto other = work;
    for (auto& slab : other.schedule.slabs) {
        std::reverse(slab.begin(), slab.end());
    }
    kVariants[0].advance(other, steps);
}

TEST(Blocking, OfTheTimedSolverIsHeldToOneStepAtATime) {
    const Alone world;
    const auto geometry = make_random_packing({40, 36, 40}, 8, 0.3, 3);
    const Physics physics{0.1, drive_of(geometry)};
    const auto error = [&](Advance* timed, int tile) {
        const BlockingCheck check(geometry, physics, {kVariants[0].advance, 2, 4, tile, 0}, world);
        Solver solver(geometry, physics, {timed, 2, 4, tile, 0}, world);
        const double found = check.error_of(solver);
        const auto f = solver.populations();
        EXPECT_EQ(std::count(f.begin(), f.end(), 0.0), static_cast<std::ptrdiff_t>(f.size()));
        return found;
    };
    for (const int tile : {8, 36}) {
        EXPECT_LE(error(kVariants[0].advance, tile), kBlockingTolerance) << tile;
        EXPECT_GT(error(seams_left_out, tile), 1e-6) << tile;
        EXPECT_GT(error(in_the_wrong_order, tile), 1e-6) << tile;
        EXPECT_GT(error(a_step_left_out, tile), 1e-6) << tile;
    }
}

TEST(Blocking, SparesTheTrafficOfItsSteps) {
    const auto bytes = [](int steps, int tile) {
        const Alone world;
        const auto geometry = make_duct(8, 36, 40);
        const Physics physics{1, drive_of(geometry)};
        return let_flow(geometry, physics, {kVariants[0].advance, 2, steps, tile, 0}, world, 20)
            .bytes_per_update;
    };
    EXPECT_DOUBLE_EQ(bytes(1, 36), 304);
    // Every row is moved once in a block; two seams of six of the 40 planes, and with small tiles a
    // wedge of six of the 36 rows, are moved once more.
    EXPECT_DOUBLE_EQ(bytes(4, 36), 76 * (1 + 12.0 / 40));
    EXPECT_DOUBLE_EQ(bytes(4, 8), 76 * (1 + 12.0 / 40 + 6.0 / 36));
}

TEST(Flow, PoiseuilleIsExactAtAnyViscosityButForItsSumOverCells) {
    const Alone world;
    for (const double viscosity : {0.05, 1.0}) {
        const auto geometry = make_slit(4, 8, 4);
        const Physics physics{viscosity, drive_of(geometry)};
        const auto flow =
            let_flow(geometry, physics, {kVariants[0].advance, 1, 0, 0, 1e6}, world, 0);
        EXPECT_TRUE(flow.steady);
        // The sum of a parabola at the middles of cells is 1/24 above its integral.
        EXPECT_NEAR(flow.permeability, 64 / 12.0 + 1 / 24.0, 2e-3);
        EXPECT_LE(flow.mass_error, kMassTolerance);
    }
}

TEST(Flow, SettlesWhenTheRestOfTheWayIsShort) {
    Settling settling;
    int steps = 0;
    double rest = 1;
    while (!settling.add(1 - rest, 1e-3)) {
        rest *= 0.9;
        ASSERT_LT(++steps, 1000);
    }
    EXPECT_LT(rest, 1e-3);
    EXPECT_GT(rest, 1e-4);
}

struct Run {
    int code;
    std::string out;
};

Run drive_with(std::vector<std::string_view> arguments) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), &std::fclose);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> err(std::tmpfile(), &std::fclose);
    const int code =
        drive("lattice-boltzmann", "", kVariants, arguments, Alone(), out.get(), err.get());
    std::rewind(out.get());
    std::array<char, 4096> text{};
    const auto size = std::fread(text.data(), 1, text.size() - 1, out.get());
    return {code, std::string(text.data(), size)};
}

TEST(Program, ADuctsPermeabilityIsVerified) {
    for (const auto* const ends : {"periodic", "pressure"}) {
        const auto run = drive_with({"--geometry", "duct", "--size", "4x16x12", "--ends", ends,
                                     "--threads", "2", "--isa", usable_isas().back()});
        EXPECT_EQ(run.code, 0) << run.out;
        EXPECT_NE(run.out.find("\"verified\":true"), std::string::npos) << run.out;
        EXPECT_NE(run.out.find("\"permeability_error\":0.00"), std::string::npos) << run.out;
    }
}

TEST(Program, ALatticeTooCoarseForOnePercentGivesNoFigure) {
    const auto run = drive_with({"--geometry", "slit", "--size", "4x4x4", "--threads", "1"});
    EXPECT_EQ(run.code, 1);
    EXPECT_NE(run.out.find("finer lattice"), std::string::npos) << run.out;
    EXPECT_EQ(run.out.find("mflups"), std::string::npos) << run.out;
}

TEST(Program, WrongCommandLinesAreRefused) {
    for (const auto& arguments :
         std::vector<std::vector<std::string_view>>{{},
                                                    {"--geometry", "cave"},
                                                    {"--geometry", "slit", "--size", "4x4"},
                                                    {"--geometry", "slit", "--size", "4x4x0"},
                                                    {"--geometry", "slit", "--size", "4x4x4x"},
                                                    {"--geometry", "sc", "--size", "4x4x8"},
                                                    {"--geometry", "sc", "--fraction", "nan"},
                                                    {"--geometry", "slit", "--voxels", "here"},
                                                    {"--geometry", "file"},
                                                    {"--geometry", "file", "--voxels", "/nowhere"},
                                                    {"--geometry", "slit", "--ends", "open"},
                                                    {"--geometry", "slit", "--viscosity", "0"}}) {
        EXPECT_EQ(drive_with(arguments).code, 2) << (arguments.empty() ? "" : arguments.back());
    }
}

}  // namespace
}  // namespace aferir::lbm

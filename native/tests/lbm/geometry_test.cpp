#include "lbm/geometry.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "common/arguments.hpp"
#include "lbm/analytic.hpp"

namespace aferir::lbm {
namespace {

std::string voxels(const std::string& header, const std::string& cells) {
    return header + "\n" + cells;
}

Geometry read(const std::string& text) {
    std::istringstream file(text);
    return read_voxels(file);
}

TEST(Geometry, AFileOfVoxelsIsReadWithXFastest) {
    const auto geometry = read(voxels("aferir-voxels 1\n3 2 1", std::string("\0\1\0\0\0\0", 6)));
    EXPECT_EQ(geometry.size.x, 3);
    EXPECT_EQ(geometry.fluid_cells(), 5U);
    EXPECT_EQ(geometry.solid[geometry.index(1, 0, 0)], 1);
    EXPECT_FALSE(geometry.permeability);
}

TEST(Geometry, AFileThatIsNotWhatItSaysIsRefused) {
    const std::string cells(6, '\0');
    for (const auto& [header, body] : std::vector<std::pair<std::string, std::string>>{
             {"aferir-voxels 2\n3 2 1", cells},
             {"P5\n3 2 1", cells},
             {"aferir-voxels 1\n3 2", cells},
             {"aferir-voxels 1\n3 2 1 1", cells},
             {"aferir-voxels 1\n3 2 0", cells},
             {"aferir-voxels 1\n3 2 -1", cells},
             {"aferir-voxels 1\n3 2 99999999999", cells},
             {"aferir-voxels 1\n16384 16384 16384", cells},
             {"aferir-voxels 1\n16000 1000 100", cells},
             {"aferir-voxels 1\n3 2 1", cells.substr(1)},
             {"aferir-voxels 1\n3 2 1", cells + "x"},
             {"aferir-voxels 1\n3 2 1", "000000"},
             {"aferir-voxels 1\n3 2 1", std::string(6, '\1')},
             {"", ""}}) {
        EXPECT_THROW(read(voxels(header, body)), UsageError) << header;
    }
}

TEST(Geometry, OrderedSpheresHaveTheShareOfTheVolumeThatIsAskedFor) {
    for (const auto packing :
         {Packing::kSimpleCubic, Packing::kBodyCentred, Packing::kFaceCentred}) {
        const auto geometry = make_spheres(packing, 48, 0.2);
        const double solid = 1 - static_cast<double>(geometry.fluid_cells()) / std::pow(48.0, 3);
        EXPECT_NEAR(solid, 0.2, 0.005);
        EXPECT_THROW(make_spheres(packing, 48, 0.75), UsageError);
        EXPECT_THROW(make_spheres(packing, 48, NAN), UsageError);
    }
}

TEST(Geometry, ARandomPackingDependsOnItsNumberAlone) {
    const auto one = make_random_packing({40, 30, 30}, 8, 0.25, 1);
    EXPECT_EQ(one.solid, make_random_packing({40, 30, 30}, 8, 0.25, 1).solid);
    EXPECT_NE(one.solid, make_random_packing({40, 30, 30}, 8, 0.25, 2).solid);
    const double solid = 1 - static_cast<double>(one.fluid_cells()) / 36000;
    EXPECT_NEAR(solid, 0.25, 0.02);
    EXPECT_THROW(make_random_packing({20, 20, 20}, 8, 0.7, 1), UsageError);
}

TEST(Analytic, DragIsThatOfZickAndHomsy) {
    EXPECT_NEAR(drag_coefficient(Packing::kSimpleCubic, 0.027), 2.008, 5e-4);
    EXPECT_NEAR(drag_coefficient(Packing::kSimpleCubic, 0.125), 4.292, 6e-4);
    EXPECT_NEAR(drag_coefficient(Packing::kSimpleCubic, 0.216), 7.442, 6e-4);
    EXPECT_NEAR(drag_coefficient(Packing::kSimpleCubic, 0.343), 15.4, 0.05);
}

TEST(Analytic, DragOfFewSpheresIsHasimotos) {
    const double fraction = 0.01;
    const auto hasimoto = [&](double first) {
        return 1 / (1 - first * std::cbrt(fraction) + fraction);
    };
    EXPECT_NEAR(drag_coefficient(Packing::kSimpleCubic, fraction) / hasimoto(1.7601), 1, 1e-3);
    EXPECT_NEAR(drag_coefficient(Packing::kBodyCentred, fraction) / hasimoto(1.7918), 1, 1e-3);
    EXPECT_NEAR(drag_coefficient(Packing::kFaceCentred, fraction) / hasimoto(1.7917), 1, 1e-3);
}

TEST(Analytic, AWideDuctIsASlitAndASquareOneIsWhatTablesSay) {
    EXPECT_NEAR(duct_permeability(2, 2000) / slit_permeability(2), 1, 1e-3);
    EXPECT_NEAR(duct_permeability(1, 1), 0.0351443, 1e-7);
    EXPECT_DOUBLE_EQ(duct_permeability(2, 3), duct_permeability(3, 2));
}

}  // namespace
}  // namespace aferir::lbm

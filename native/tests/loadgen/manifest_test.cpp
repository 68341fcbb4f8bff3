#include "loadgen/manifest.hpp"

#include <gtest/gtest.h>

#include "manifests.hpp"

namespace aferir::loadgen {
namespace {

TEST(Manifest, OfFFmpegHasItsRatesInOrderAndTheNamesOfItsSegments) {
    const Manifest made = parse_manifest(kOfFFmpeg);
    EXPECT_DOUBLE_EQ(made.seconds, 70.0);
    EXPECT_DOUBLE_EQ(made.segment_s, 4.0);
    EXPECT_EQ(made.segments(), 18);
    ASSERT_EQ(made.representations.size(), 2U);
    EXPECT_EQ(made.representations[0].bits_per_second, 400210.0);
    EXPECT_EQ(made.representations[0].initialization, "0.mp4");
    EXPECT_EQ(made.representations[0].segment(18), "0-18.m4s");
    EXPECT_EQ(made.representations[1].bits_per_second, 1001018.0);
    EXPECT_EQ(made.representations[1].segment(1), "1-1.m4s");
}

TEST(Manifest, TakesWhatRatesInheritAndTheFirstVideoAlone) {
    const Manifest made = parse_manifest(kInherits);
    EXPECT_DOUBLE_EQ(made.seconds, 3723.5);
    EXPECT_DOUBLE_EQ(made.segment_s, 2.5);
    EXPECT_EQ(made.first, 7);
    ASSERT_EQ(made.representations.size(), 2U);
    EXPECT_EQ(made.representations[0].segment(7), "v/low/500000-00007.m4s?a=1&b=$");
    EXPECT_EQ(made.representations[1].segment(123456), "high-123456");
    EXPECT_EQ(made.representations[0].initialization, "");
}

struct Wrong {
    const char* from;
    const char* to;
    const char* said;
};

class WrongManifest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongManifest, IsRefusedWithAReason) {
    std::string text(kOfFFmpeg);
    const std::size_t at = text.find(GetParam().from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string_view(GetParam().from).size(), GetParam().to);
    try {
        parse_manifest(text);
        FAIL() << "it was read";
    } catch (const ManifestError& error) {
        EXPECT_NE(std::string_view(error.what()).find(GetParam().said), std::string::npos)
            << error.what();
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongManifest,
    testing::Values(Wrong{"type=\"static\"", "type=\"dynamic\"", "live"},
                    Wrong{"PT1M10.0S", "P1Y", "number of segments"},
                    Wrong{"PT1M10.0S", "", "segments"},
                    Wrong{"PT1M10.0S", "PT1D", "number of segments"},
                    Wrong{"duration=\"4000000\"", "duration=\"0\"", "duration of the segments"},
                    Wrong{"duration=\"4000000\"", "duration=\"1\"", "number of segments"},
                    Wrong{"duration=\"4000000\"", "duration=\"2000000\"", "differ"},
                    Wrong{"bandwidth=\"400210\"", "bandwidth=\"-1\"", "bandwidth"},
                    Wrong{"$Number$", "$Time$", "$Time$"}, Wrong{"$Number$", "$Number", "single $"},
                    Wrong{"</Period>", "</Period><Period/>", "more than one"},
                    Wrong{"<SegmentTemplate", "<BaseURL/><SegmentTemplate", "BaseURL"},
                    Wrong{"startNumber=\"1\"", "startNumber=\"-1\"", "number of segments"},
                    Wrong{"</Representation>", "<Representation></Representation>", "no"},
                    Wrong{"</MPD>", "<MPD", "no XML"},
                    Wrong{"contentType=\"video\"", "contentType=", "no XML"}));

TEST(Manifest, WithoutVideoIsRefused) {
    EXPECT_THROW(parse_manifest(""), ManifestError);
    EXPECT_THROW(parse_manifest("<MPD/>"), ManifestError);
    EXPECT_THROW(parse_manifest("</Representation>"), ManifestError);
    EXPECT_THROW(parse_manifest("a video"), ManifestError);
}

}  // namespace
}  // namespace aferir::loadgen

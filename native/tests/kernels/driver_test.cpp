#include "npb/driver.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "capture.hpp"
#include "common/isa.hpp"
#include "common/memory.hpp"

namespace aferir::npb {
namespace {

Outcome good(ProblemClass problem, int threads) {
    Outcome outcome;
    outcome.seconds = 0.5;
    outcome.operations = 3e6;
    outcome.iterations = threads;
    outcome.checks = {compare("sum", problem == ProblemClass::W ? 4.0 : 0.0, 4.0)};
    outcome.verified = all_within(outcome.checks, 1e-8);
    return outcome;
}

Outcome too_large(ProblemClass /*problem*/, int /*threads*/) {
    throw OutOfMemory("needs 9 MiB; choose a smaller problem");
}

struct Result {
    int code;
    std::string out;
    std::string err;
};

Result run(const std::vector<std::string_view>& given,
           Outcome (*kernel)(ProblemClass, int) = good) {
    std::vector<Variant> variants;
    for (const auto* const isa : {"v4", "v3", "v2", "base"}) {
        variants.push_back({isa, kernel});
    }
    const Capture out;
    const Capture err;
    const int code = drive("npb-xx", variants, given, out.file(), err.file());
    return {code, out.text(), err.text()};
}

TEST(Driver, VerifiedRunIsOneLineWithFigures) {
    const auto result = run({"--class", "W", "--threads", "3"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out,
              "{\"program\":\"npb-xx\",\"class\":\"W\",\"threads\":3,\"isa\":\"" +
                  std::string(usable_isas().front()) +
                  "\",\"iterations\":3,\"duration_s\":0.5,\"throughput_mops\":6,\"verified\":true,"
                  "\"checks\":[{\"name\":\"sum\",\"computed\":4,\"reference\":4,"
                  "\"relative_error\":0}]}\n");
    EXPECT_EQ(result.err, "");
}

TEST(Driver, UnverifiedRunHasNoFigures) {
    const auto result = run({"--class=A"});
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(contains(result.out, "\"verified\":false"));
    EXPECT_TRUE(contains(result.out, "\"error\":\""));
    EXPECT_TRUE(contains(result.out, "\"computed\":0,\"reference\":4"));
    for (const auto* figure : {"duration_s", "throughput_mops", "iterations"}) {
        EXPECT_FALSE(contains(result.out, figure)) << figure;
    }
}

TEST(Driver, WrongCommandLineSaysWhatToDo) {
    const std::vector<std::pair<std::vector<std::string_view>, std::string>> cases{
        {{}, "--class S, W, A, B, C or D"},
        {{"--class", "E"}, "--class S, W, A, B, C or D"},
        {{"--class"}, "needs a value"},
        {{"--class", "S", "--threads", "0"}, "from 1 to"},
        {{"--class", "S", "--threads", "two"}, "from 1 to"},
        {{"--class", "S", "--isa", "v9"}, "leave it out"},
        {{"--klass", "S"}, "--help"},
    };
    for (const auto& [given, remedy] : cases) {
        const auto result = run(given);
        EXPECT_EQ(result.code, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_TRUE(contains(result.err, remedy)) << result.err;
    }
}

TEST(Driver, IsaIsAsAskedFor) {
    for (const auto isa : usable_isas()) {
        const auto result = run({"--class", "W", "--isa", isa});
        EXPECT_TRUE(contains(result.out, "\"isa\":\"" + std::string(isa) + "\""));
    }
}

TEST(Driver, TooLargeProblemIsAnErrorOfItsOwn) {
    const auto result = run({"--class", "S"}, too_large);
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "choose a smaller problem"));
}

TEST(Driver, HelpIsNoRun) {
    const auto result = run({"--help"}, too_large);
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(contains(result.out, "usage: npb-xx --class"));
}

}  // namespace
}  // namespace aferir::npb

#include "common/arguments.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace aferir {
namespace {

Arguments parse(const std::vector<std::string_view>& given) {
    const std::vector<std::string_view> names{"--size", "--name"};
    const std::vector<std::string_view> flags{"--quick"};
    return {given, names, flags};
}

TEST(Arguments, BothFormsOfAnOption) {
    const auto arguments = parse({"--size", "5", "--name=a=b", "--quick"});
    EXPECT_EQ(arguments.integer("--size", 1, 0, 10), 5);
    EXPECT_EQ(arguments.value("--name"), "a=b");
    EXPECT_TRUE(arguments.has("--quick"));
    EXPECT_FALSE(parse({}).has("--quick"));
    EXPECT_EQ(parse({}).integer("--size", 7, 0, 10), 7);
}

TEST(Arguments, LastOfTwoCounts) {
    EXPECT_EQ(parse({"--size", "5", "--size", "6"}).integer("--size", 1, 0, 10), 6);
}

TEST(Arguments, WrongOnesAreRefused) {
    EXPECT_THROW(parse({"--other"}), UsageError);
    EXPECT_THROW(parse({"size"}), UsageError);
    EXPECT_THROW(parse({"--size"}), UsageError);
    EXPECT_THROW(parse({"--quick=yes"}), UsageError);
    for (const auto* text : {"", "x", "5x", "5.0", "-1", "11", "99999999999999999999"}) {
        const auto arguments = parse({"--size", text});
        EXPECT_THROW((void)arguments.integer("--size", 1, 0, 10), UsageError) << text;
    }
}

}  // namespace
}  // namespace aferir

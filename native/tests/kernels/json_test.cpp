#include "common/json.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace aferir {
namespace {

TEST(Json, FieldsInOrder) {
    const auto json =
        JsonObject().text("a", "b").integer("n", -3).boolean("yes", true).raw("list", "[1]").str();
    EXPECT_EQ(json, R"({"a":"b","n":-3,"yes":true,"list":[1]})");
    EXPECT_EQ(JsonObject().str(), "{}");
}

TEST(Json, TextIsEscaped) {
    EXPECT_EQ(JsonObject().text("a", "\"\\\n\x01").str(), R"({"a":"\"\\\u000a\u0001"})");
}

TEST(Json, NumbersKeepEveryDigit) {
    EXPECT_EQ(JsonObject().number("a", 0.1).str(), R"({"a":0.1})");
    EXPECT_EQ(JsonObject().number("a", 1.0 / 3).str(), R"({"a":0.3333333333333333})");
    EXPECT_EQ(JsonObject().number("a", 1e300).str(), R"({"a":1e+300})");
}

TEST(Json, WhatIsNoNumberIsNull) {
    EXPECT_EQ(JsonObject().number("a", NAN).str(), R"({"a":null})");
    EXPECT_EQ(JsonObject().number("a", -INFINITY).str(), R"({"a":null})");
}

}  // namespace
}  // namespace aferir

#include "loadgen/redis.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace aferir::loadgen {
namespace {

constexpr std::string_view kTwoValues = "*2\r\n$5\r\nhello\r\n$0\r\n\r\n";

RedisAnswer fed_to_redis(std::string_view text, std::size_t keys, std::size_t piece = 1000) {
    RedisAnswer answer(keys);
    for (std::size_t at = 0; at < text.size(); at += piece) {
        const std::string_view part = text.substr(at, piece);
        answer.feed(std::span(part.data(), part.size()));
    }
    return answer;
}

TEST(RedisAnswer, IsWholeHoweverItIsCut) {
    for (std::size_t piece = 1; piece <= kTwoValues.size(); ++piece) {
        const RedisAnswer answer = fed_to_redis(kTwoValues, 2, piece);
        ASSERT_EQ(answer.state(), Answer::State::kDone) << piece;
        EXPECT_EQ(answer.status(), 200);
        EXPECT_TRUE(answer.keeps());
        EXPECT_EQ(fed_to_redis(kTwoValues.substr(0, kTwoValues.size() - 1), 2, piece).state(),
                  Answer::State::kReading);
    }
}

TEST(RedisAnswer, WithoutEveryValueIsAMissAndAnErrorIsAnError) {
    EXPECT_EQ(fed_to_redis("*2\r\n$1\r\na\r\n$-1\r\n", 2).status(), 404);
    EXPECT_EQ(fed_to_redis("*1\r\n$-1\r\n", 1).status(), 404);
    for (const std::string_view text : {"-ERR wrong\r\n", "-NOAUTH Authentication required.\r\n"}) {
        EXPECT_EQ(fed_to_redis(text, 1).status(), 500) << text;
    }
}

TEST(RedisAnswer, IsBrokenByNonsenseAndByAnEarlyEnd) {
    for (const std::string& text :
         {std::string("HTTP/1.1 400 Bad\r\n"), std::string("*1\n"), std::string("*2\r\n"),
          std::string("*1\r\n$-2\r\n"), std::string("*1\r\n:1\r\n"), std::string("\r\n"),
          std::string("*1\r\n$1\r\na\r\n$"), std::string("*1\r\n$99999999999999999999\r\n"),
          std::string(5000, 'x')}) {
        EXPECT_EQ(fed_to_redis(text, 1).state(), Answer::State::kBroken) << text;
    }
    RedisAnswer cut = fed_to_redis(kTwoValues.substr(0, 12), 2);
    cut.end();
    EXPECT_EQ(cut.state(), Answer::State::kBroken);
}

TEST(RedisUrl, IsWrittenAsAnMgetOfAllKeys) {
    const auto target = parse_redis_url("redis://127.0.0.1:6379/a,bc");
    ASSERT_TRUE(target);
    EXPECT_EQ(redis_request(*target), "*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$2\r\nbc\r\n");
    EXPECT_FALSE(parse_redis_url("memcached://127.0.0.1:6379/a"));
    EXPECT_FALSE(parse_redis_url("redis://127.0.0.1:6379/"));
}

}  // namespace
}  // namespace aferir::loadgen

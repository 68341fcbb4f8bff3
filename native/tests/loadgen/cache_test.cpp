#include "loadgen/cache.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace aferir::loadgen {
namespace {

constexpr std::string_view kTwo = "VALUE a 0 5\r\nhello\r\nVALUE b 7 0\r\n\r\nEND\r\n";

CacheAnswer fed_to_cache(std::string_view text, std::size_t keys, std::size_t piece = 1000) {
    CacheAnswer answer(keys);
    for (std::size_t at = 0; at < text.size(); at += piece) {
        const std::string_view part = text.substr(at, piece);
        answer.feed(std::span(part.data(), part.size()));
    }
    return answer;
}

TEST(CacheAnswer, IsWholeHoweverItIsCut) {
    for (std::size_t piece = 1; piece <= kTwo.size(); ++piece) {
        const CacheAnswer answer = fed_to_cache(kTwo, 2, piece);
        ASSERT_EQ(answer.state(), Answer::State::kDone) << piece;
        EXPECT_EQ(answer.status(), 200);
        EXPECT_TRUE(answer.keeps());
        EXPECT_EQ(fed_to_cache(kTwo.substr(0, kTwo.size() - 1), 2, piece).state(),
                  Answer::State::kReading);
    }
}

TEST(CacheAnswer, IsNotMisledByAValueThatLooksLikeAnEnd) {
    EXPECT_EQ(fed_to_cache("VALUE a 0 7\r\nEND\r\nxx\r\n", 1).state(), Answer::State::kReading);
    EXPECT_EQ(fed_to_cache("VALUE a 0 7\r\nEND\r\nxx\r\nEND\r\n", 1).status(), 200);
}

TEST(CacheAnswer, WithoutEveryValueIsAMissAndAnErrorIsAnError) {
    EXPECT_EQ(fed_to_cache("END\r\n", 1).status(), 404);
    EXPECT_EQ(fed_to_cache(kTwo, 3).status(), 404);
    for (const std::string_view text :
         {"ERROR\r\n", "CLIENT_ERROR bad\r\n", "SERVER_ERROR out of memory\r\n"}) {
        EXPECT_EQ(fed_to_cache(text, 1).status(), 500) << text;
    }
}

TEST(CacheAnswer, IsBrokenByNonsenseAndByAnEarlyEnd) {
    for (const std::string& text :
         {std::string("HTTP/1.1 400 Bad\r\n"), std::string("END\n"), std::string("END\r\nEND\r\n"),
          std::string("VALUE a 0 -1\r\n"), std::string("VALUE a 0\r\n"),
          std::string("VALUE a 0 99999999999999999999\r\n"), std::string(5000, 'x')}) {
        EXPECT_EQ(fed_to_cache(text, 1).state(), Answer::State::kBroken) << text;
    }
    CacheAnswer cut = fed_to_cache(kTwo.substr(0, 20), 2);
    cut.end();
    EXPECT_EQ(cut.state(), Answer::State::kBroken);
}

TEST(CacheUrl, NamesAServerAndKeysOrIsRefused) {
    const auto target = parse_cache_url("memcached://127.0.0.1:11211/a,b");
    ASSERT_TRUE(target);
    EXPECT_EQ(cache_request(*target), "get a b\r\n");
    EXPECT_EQ(keys_of(*target), 2U);
    for (const std::string& url :
         {std::string("http://127.0.0.1:1/a"), std::string("memcached://127.0.0.1:1/"),
          std::string("memcached://127.0.0.1:1"), std::string("memcached://127.0.0.1:1/a,"),
          std::string("memcached://127.0.0.1:1/a b"), std::string("memcached://host:1/a"),
          "memcached://127.0.0.1:1/" + std::string(251, 'x')}) {
        EXPECT_FALSE(parse_cache_url(url)) << url;
    }
}

}  // namespace
}  // namespace aferir::loadgen

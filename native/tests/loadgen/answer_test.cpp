#include "loadgen/answer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace aferir::loadgen {
namespace {

constexpr std::string_view kPlain = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
constexpr std::string_view kChunkedAnswer =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;name=value\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: x\r\n\r\n";

/// Feeds an answer in pieces of `piece` bytes.
Answer fed(std::string_view text, std::size_t piece) {
    Answer answer;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        const std::string_view part = text.substr(at, piece);
        answer.feed(std::span(part.data(), part.size()));
    }
    return answer;
}

TEST(Answer, IsWholeHoweverItIsCut) {
    for (const std::string_view text : {kPlain, kChunkedAnswer}) {
        for (std::size_t piece = 1; piece <= text.size(); ++piece) {
            const Answer answer = fed(text, piece);
            ASSERT_EQ(answer.state(), Answer::State::kDone) << piece;
            EXPECT_EQ(answer.status(), 200);
            EXPECT_TRUE(answer.keeps());
        }
        const Answer cut = fed(text.substr(0, text.size() - 1), 7);
        EXPECT_EQ(cut.state(), Answer::State::kReading);
    }
}

TEST(Answer, WithoutALengthGoesToTheEndOfTheConnection) {
    Answer answer = fed("HTTP/1.1 200 OK\r\n\r\nhello", 3);
    EXPECT_EQ(answer.state(), Answer::State::kReading);
    answer.end();
    EXPECT_EQ(answer.state(), Answer::State::kDone);
    EXPECT_FALSE(answer.keeps());
}

TEST(Answer, OfAnotherCodingGoesToTheEndOfTheConnection) {
    Answer answer =
        fed("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhello", 3);
    EXPECT_EQ(answer.state(), Answer::State::kReading);
    answer.end();
    EXPECT_EQ(answer.state(), Answer::State::kDone);
}

TEST(Answer, MayEndItsLinesWithLineFeedsAlone) {
    std::string text(kChunkedAnswer);
    std::erase(text, '\r');
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        EXPECT_EQ(fed(text, piece).state(), Answer::State::kDone) << piece;
    }
}

TEST(Answer, ThatBreaksOffIsBroken) {
    for (const std::string_view text : {kPlain, kChunkedAnswer}) {
        Answer answer = fed(text.substr(0, text.size() - 1), 100);
        answer.end();
        EXPECT_EQ(answer.state(), Answer::State::kBroken);
    }
}

TEST(Answer, MayFollowInterimOnesHoweverTheyAreCut) {
    const std::string text =
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + std::string(kPlain);
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        const Answer answer = fed(text, piece);
        ASSERT_EQ(answer.state(), Answer::State::kDone) << piece;
        EXPECT_EQ(answer.status(), 200);
    }
}

TEST(Answer, KeepsTheConnectionUnlessTheServerClosesIt) {
    EXPECT_FALSE(fed("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", 9).keeps());
    EXPECT_FALSE(fed("HTTP/1.0 204 No\r\n\r\n", 9).keeps());
    EXPECT_FALSE(fed("HTTP/1.1 204 No\r\nConnection: close, TE\r\n\r\n", 9).keeps());
    EXPECT_FALSE(fed("HTTP/1.1 204 No\r\nConnection: TE ,\tClose\r\n\r\n", 9).keeps());
    EXPECT_FALSE(fed("HTTP/1.1 204 No\r\nConnection: close, keep-alive\r\n\r\n", 9).keeps());
    EXPECT_TRUE(fed("HTTP/1.0 204 No\r\nConnection: keep-alive, TE\r\n\r\n", 9).keeps());
    EXPECT_TRUE(fed("HTTP/1.1 204 No\r\nConnection: disclose,\r\n\r\n", 9).keeps());
    EXPECT_TRUE(fed("HTTP/1.1 304 No\r\n\r\n", 9).keeps());
    EXPECT_TRUE(fed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 9).keeps());
}

TEST(Answer, AfterAnInterimOneIsReadToo) {
    const Answer answer = fed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", 1);
    EXPECT_EQ(answer.state(), Answer::State::kDone);
    EXPECT_EQ(answer.status(), 204);
}

TEST(Answer, IsBrokenByNonsense) {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& text :
         {std::string("SSH-2.0-x\r\n\r\n"), head + "x", head + "\r\n", head + "1\r\nab",
          head + "10000000000000", std::string(kPlain) + "more",
          std::string(kChunkedAnswer) + "more"}) {
        EXPECT_EQ(fed(text, 1000).state(), Answer::State::kBroken) << text;
    }
}

TEST(Answer, StandsDamage) {
    std::mt19937 random(1);
    for (int turn = 0; turn < 20'000; ++turn) {
        std::string text(turn % 2 == 0 ? kPlain : kChunkedAnswer);
        for (unsigned k = 0; k < 1 + random() % 4; ++k) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        Answer answer = fed(text, 1 + random() % text.size());
        answer.end();
        EXPECT_NE(answer.state(), Answer::State::kReading);
    }
}

}  // namespace
}  // namespace aferir::loadgen

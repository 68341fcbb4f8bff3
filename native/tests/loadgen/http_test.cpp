#include "loadgen/http.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace aferir::loadgen {
namespace {

ResponseHead fed(std::string_view text, std::size_t piece = 1 << 20) {
    ResponseHead head;
    while (!text.empty() && head.state() == ResponseHead::State::kReading) {
        const std::string_view now = text.substr(0, piece);
        text.remove_prefix(head.feed(std::span(now.data(), now.size())));
    }
    return head;
}

constexpr std::string_view kRedirect =
    "HTTP/1.1 302 Found\r\nlocation:  http://10.0.0.2:81/v.mp4 \r\nAferir-Leave: /leave/x\r\n"
    "Content-Length: 0\r\n\r\n";

TEST(ResponseHead, IsReadInPiecesOfAnySize) {
    for (std::size_t piece = 1; piece <= kRedirect.size(); ++piece) {
        const ResponseHead head = fed(kRedirect, piece);
        ASSERT_EQ(head.state(), ResponseHead::State::kDone) << piece;
        EXPECT_EQ(head.status(), 302);
        EXPECT_EQ(head.location(), "http://10.0.0.2:81/v.mp4");
        EXPECT_EQ(head.leave(), "/leave/x");
        EXPECT_EQ(head.content_length(), 0);
    }
}

TEST(ResponseHead, LeavesTheBodyAlone) {
    const std::string text = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nvideo";
    ResponseHead head;
    EXPECT_EQ(head.feed(std::span(text.data(), text.size())), text.size() - 5);
    EXPECT_EQ(head.state(), ResponseHead::State::kDone);
}

TEST(ResponseHead, RefusesWhatIsNoHeadOfAVideo) {
    for (const char* text :
         {"\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 999 OK\r\n\r\n",
          "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: empty\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
        EXPECT_EQ(fed(text).state(), ResponseHead::State::kBroken) << text;
    }
}

TEST(ResponseHead, AnEndlessHeadIsGivenUp) {
    ResponseHead head;
    const std::string line(1000, 'x');
    for (int k = 0; k < 20; ++k) {
        head.feed(std::span(line.data(), line.size()));
    }
    EXPECT_EQ(head.state(), ResponseHead::State::kBroken);
}

TEST(ResponseHead, SurvivesAnythingThatIsSent) {
    std::mt19937 random(7);
    const std::string letters = "HTP/1. 20\r\n:abcLocationContent-Length\t\x7f\0\xff";
    for (int round = 0; round < 200'000; ++round) {
        std::string text = round % 2 != 0 ? std::string(kRedirect) : std::string();
        for (std::size_t k = 0; k < 1 + random() % 8; ++k) {
            const std::size_t at = text.empty() ? 0 : random() % text.size();
            const char letter = letters[random() % letters.size()];
            if (random() % 2 != 0 && at < text.size()) {
                text[at] = letter;
            } else {
                text.insert(at, 1, letter);
            }
        }
        const ResponseHead head = fed(text, 1 + random() % 40);
        if (head.state() == ResponseHead::State::kDone) {
            ASSERT_GE(head.status(), 100);
            ASSERT_GE(head.content_length().value_or(0), 0);
            (void)parse_url(head.location());
        }
    }
}

TEST(Url, NumericAddressesOfBothFamilies) {
    const auto v4 = parse_url("http://127.0.0.1:8080/a?b=c");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->path, "/a?b=c");
    EXPECT_EQ(v4->host, "127.0.0.1:8080");
    EXPECT_EQ(v4->address.ss_family, AF_INET);
    const auto v6 = parse_url("http://[::1]:80");
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->path, "/");
    EXPECT_EQ(v6->address.ss_family, AF_INET6);
    EXPECT_TRUE(parse_url("http://10.0.0.1"));
}

TEST(Url, AnythingElseIsNone) {
    for (const char* url : {"", "https://127.0.0.1/", "http://", "http://localhost/",
                            "http://127.0.0.1:0x50/", "http://127.0.0.1:99999/", "http://[::1/",
                            "http://127.0.0.1:80/a b", "http://127.0.0.1:80/\r\nHost: x"}) {
        EXPECT_FALSE(parse_url(url)) << url;
    }
}

TEST(Request, NamesItsHostAndClosesTheConnection) {
    const auto target = parse_url("http://127.0.0.1:81/v");
    EXPECT_EQ(request("GET", *target),
              "GET /v HTTP/1.1\r\nHost: 127.0.0.1:81\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace aferir::loadgen

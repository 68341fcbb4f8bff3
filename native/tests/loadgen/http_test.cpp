#include "loadgen/http.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
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
          "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "HTTP/1.1 200 OK\n: empty\n\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
        EXPECT_EQ(fed(text).state(), ResponseHead::State::kBroken) << text;
    }
}

TEST(ResponseHead, AnEndlessHeadIsGivenUp) {
    ResponseHead head;
    const std::string line(1000, 'x');
    for (int k = 0; k < 300; ++k) {
        head.feed(std::span(line.data(), line.size()));
    }
    EXPECT_EQ(head.state(), ResponseHead::State::kBroken);
}

TEST(ResponseHead, MayBeLongFoldedAndEndItsLinesWithLineFeeds) {
    const std::string text =
        "HTTP/1.1 302 Found\nContent-Security-Policy: " + std::string(30'000, 'a') +
        "\nLocation :\n  /next\r\n\tto\nContent-Length: 2, 2\n\r\nhi";
    for (const std::size_t piece : {1, 2, 3, 7, 4096, 40'000}) {
        const ResponseHead head = fed(text, piece);
        ASSERT_EQ(head.state(), ResponseHead::State::kDone) << piece;
        EXPECT_EQ(head.location(), "/next\tto");
        EXPECT_EQ(head.content_length(), 2);
    }
    ResponseHead head;
    EXPECT_EQ(head.feed(std::span(text.data(), text.size())), text.size() - 2);
}

TEST(ResponseHead, SaysWhatTheBodyIsFramedBy) {
    const auto coded = [](const std::string& coding) {
        return fed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n" + coding + "\r\n");
    };
    EXPECT_EQ(coded("").content_length(), 9);
    EXPECT_EQ(coded("Transfer-Encoding: identity\r\n").content_length(), 9);
    for (const char* chunked :
         {"Transfer-Encoding: chunked\r\n", "transfer-encoding: gzip, Chunked\r\n",
          "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"}) {
        EXPECT_TRUE(coded(chunked).chunked()) << chunked;
        EXPECT_FALSE(coded(chunked).content_length()) << chunked;
    }
    EXPECT_FALSE(coded("Transfer-Encoding: gzip\r\n").chunked());
    EXPECT_FALSE(coded("Transfer-Encoding: gzip\r\n").content_length());
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
            (void)redirected(*parse_url("http://10.0.0.1/a/b?c"), head.location());
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

TEST(Url, RedirectionsMayBeRelative) {
    const auto base = *parse_url("http://127.0.0.1:81/a/b?c=d");
    const auto path = [&base](std::string_view location) {
        const auto target = redirected(base, location);
        return target ? target->host + target->path : "none";
    };
    // RFC 3986, 5.4
    EXPECT_EQ(path("/x?y#z"), "127.0.0.1:81/x?y");
    EXPECT_EQ(path("x"), "127.0.0.1:81/a/x");
    EXPECT_EQ(path("./x/../y/."), "127.0.0.1:81/a/y/");
    EXPECT_EQ(path("../../../x?q=/../"), "127.0.0.1:81/x?q=/../");
    EXPECT_EQ(path("..?q"), "127.0.0.1:81/?q");
    EXPECT_EQ(path("?e=f"), "127.0.0.1:81/a/b?e=f");
    EXPECT_EQ(path("//10.0.0.1"), "10.0.0.1/");
    EXPECT_EQ(path("http://[::1]:80/v"), "[::1]/v");
    for (const char* none : {"", "#z", "https://127.0.0.1/", "http://other/", "mailto:x", "/a b"}) {
        EXPECT_EQ(path(none), "none") << none;
    }
}

TEST(Url, RedirectionsMayNameTheHostThatWasAsked) {
    Target base = *parse_url("http://127.0.0.1:81/");
    base.host = "Web.local:81";
    const auto target = redirected(base, "HTTP://web.LOCAL/x");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->host, "web.LOCAL");
    sockaddr_in place{};
    std::memcpy(&place, &target->address, sizeof place);
    EXPECT_EQ(ntohs(place.sin_port), 80);
    EXPECT_FALSE(redirected(base, "http://other.local/x"));
}

TEST(Url, OtherAddressesOfTheHostKeepThePort) {
    const auto target = at_address(*parse_url("http://127.0.0.1:81/v"), "::1");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->address.ss_family, AF_INET6);
    EXPECT_EQ(target->host, "127.0.0.1:81");
    EXPECT_FALSE(at_address(*target, "localhost"));
}

TEST(Request, NamesItsHostAndWhoAsksAndClosesTheConnection) {
    EXPECT_EQ(request("GET", *parse_url("http://127.0.0.1:81/v")),
              "GET /v HTTP/1.1\r\nHost: 127.0.0.1:81\r\nUser-Agent: aferir\r\n"
              "Accept: */*\r\nConnection: close\r\n\r\n");
    // The default port is not part of the name in the header Host.
    EXPECT_NE(request("GET", *parse_url("http://[::1]:80/v")).find("Host: [::1]\r\n"),
              std::string::npos);
}

}  // namespace
}  // namespace aferir::loadgen

// Fuzzes the parsers of answers of HTTP, memcached and Redis with arbitrary bytes, whole and in
// pieces: the result must not depend on how the bytes are cut into segments.
#include <algorithm>
#include <random>
#include <string>

#include "fuzz.hpp"
#include "loadgen/answer.hpp"
#include "loadgen/cache.hpp"
#include "loadgen/http.hpp"
#include "loadgen/redis.hpp"

namespace {

using namespace aferir;
using namespace aferir::loadgen;
using State = Answer::State;

/// Feeds the bytes in pieces of 1 to 64 until the answer is complete or broken; returns how many
/// bytes that took.
template <typename AnyAnswer>
std::size_t feed_in_pieces(AnyAnswer& answer, std::span<const char> bytes, std::uint32_t number) {
    std::minstd_rand random(number + 1U);
    std::size_t at = 0;
    while (at < bytes.size() && answer.state() == State::kReading) {
        const std::size_t size = std::min<std::size_t>(1U + random() % 64U, bytes.size() - at);
        answer.feed(bytes.subspan(at, size));
        at += size;
    }
    return at;
}

template <typename AnyAnswer>
void compare(AnyAnswer whole, AnyAnswer pieces, std::span<const char> bytes, std::uint32_t number) {
    const std::size_t used = feed_in_pieces(pieces, bytes, number);
    whole.feed(bytes.first(used));
    for (const bool ended : {false, true}) {
        if (ended) {
            whole.end();
            pieces.end();
        }
        fuzzing::require(whole.state() == pieces.state());
        fuzzing::require(whole.keeps() == pieces.keeps() && whole.begun() == pieces.begun());
        fuzzing::require(whole.state() == State::kBroken || whole.status() == pieces.status());
    }
    fuzzing::require(whole.state() != State::kReading);
}

}  // namespace

/// The first two bytes say how the rest is cut, and of which protocol it is.
void aferir::fuzzing::check(std::span<const std::uint8_t> data) {
    if (data.size() < 2) {
        return;
    }
    const std::string text(data.begin() + 2, data.end());
    const std::size_t keys = 1U + data[1] / 3U % 4U;
    if (data[1] % 3 == 0) {
        compare(Answer(), Answer(), std::span(text), data[0]);
        const auto base = parse_url("http://127.0.0.1:80/a/b?c");
        const auto next = redirected(*base, text);
        require(!next || next->length > 0);
    } else if (data[1] % 3 == 1) {
        compare(CacheAnswer(keys), CacheAnswer(keys), std::span(text), data[0]);
    } else {
        compare(RedisAnswer(keys), RedisAnswer(keys), std::span(text), data[0]);
    }
}

std::vector<aferir::fuzzing::Bytes> aferir::fuzzing::examples() {
    const std::vector<std::string> http = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nabcd\r\n0\r\nx: y\r\n\r\n",
        "HTTP/1.0 404 Not Found\nConnection: keep-alive, TE\nContent-Length:0\n\n",
        "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 302 \r\nLocation: //b/c\r\n"
        "Content-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\r\nto the end",
        "../x/./y?z#w",
        "http://[::1]:8080/p"};
    const std::vector<std::string> cache = {"VALUE a 0 3\r\nabc\r\nVALUE b 1 0\r\n\r\nEND\r\n",
                                            "END\r\n", "SERVER_ERROR out\r\n",
                                            "VALUE a 0 2 77\r\nxy\r\nEND\r\n"};
    const std::vector<std::string> redis = {"*2\r\n$3\r\nabc\r\n$-1\r\n", "-LOADING wait\r\n"};
    std::vector<Bytes> inputs;
    for (const std::string& text : http) {
        inputs.push_back(bytes(std::string(2, '\0') + text));
    }
    for (const std::string& text : cache) {
        inputs.push_back(bytes(std::string(1, '\0') + '\4' + text));
    }
    for (const std::string& text : redis) {
        inputs.push_back(bytes(std::string(1, '\0') + '\5' + text));
    }
    return inputs;
}

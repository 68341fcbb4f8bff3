#include "network_stream/network_stream.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "capture.hpp"
#include "common/descriptor.hpp"
#include "network_stream/counters.hpp"
#include "network_stream/gaps.hpp"
#include "network_stream/pattern.hpp"

namespace aferir {
namespace {

/// A port that no other program gets: it is bound here, without a listener, so that the receiver,
/// which sets SO_REUSEADDR as well, may listen there (socket(7)).
class Port {
  public:
    Port() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        const int on = 1;
        setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        auto* const plain = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(socket_.number(), plain, sizeof address), 0);
        socklen_t size = sizeof address;
        getsockname(socket_.number(), plain, &size);
        text_ = std::to_string(ntohs(address.sin_port));
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    Descriptor socket_;
    std::string text_;
};

TEST(Counters, NamesAndValuesOfTcpAloneArePaired) {
    const auto counters = parse_counters(
        "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
        "Tcp: RtoAlgorithm RetransSegs\nTcp: 1 17\n"
        "TcpExt: TCPDSACKRecv\nTcpExt: 5\nMPTcpExt: MPJoinAckRx\nMPTcpExt: 3\n"
        "Tcp: torn\n");
    const Counters expected{{"MPTcpExtMPJoinAckRx", 3},
                            {"TcpExtTCPDSACKRecv", 5},
                            {"TcpRetransSegs", 17},
                            {"TcpRtoAlgorithm", 1}};
    EXPECT_EQ(counters, expected);
}

TEST(Counters, OnlyGrowthIsKept) {
    const Counters before{{"a", 1}, {"b", 2}, {"d", 9}};
    const Counters after{{"a", 1}, {"b", 5}, {"c", 4}, {"d", 3}};
    const Counters expected{{"b", 3}, {"c", 4}};
    EXPECT_EQ(difference(before, after), expected);
}

TEST(Counters, LinksAreReadWithoutLoopback) {
    const auto links = parse_links(
        "Inter-|   Receive  |  Transmit\n face |bytes packets\n"
        "    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
        "  eth0: 100 2 0 0 0 0 0 0 300 4 0 0 0 0 0 0\n");
    const std::map<std::string, LinkBytes> expected{{"eth0", {100, 300}}};
    EXPECT_EQ(links, expected);
}

TEST(Gaps, TheLongestPauseAndItsStartAreKept) {
    GapWatch watch;
    EXPECT_EQ(watch.longest_s(), 0);
    for (const double time : {10.0, 10.5, 12.0, 12.25, 13.0}) {
        watch.note(time);
    }
    EXPECT_DOUBLE_EQ(watch.longest_s(), 1.5);
    EXPECT_DOUBLE_EQ(watch.began_s(), 10.5);
    EXPECT_DOUBLE_EQ(watch.first_s(), 10);
    EXPECT_DOUBLE_EQ(watch.last_s(), 13);
}

TEST(Pattern, AShiftOrALostSegmentShows) {
    const Pattern pattern;
    const auto data = pattern.at(123'456);
    EXPECT_TRUE(pattern.matches(data, 123'456));
    EXPECT_FALSE(pattern.matches(data, 123'457));
    EXPECT_FALSE(pattern.matches(data, 123'456 + 1448));
    EXPECT_FALSE(pattern.matches(data, 123'456 + Pattern::kChunk));
}

TEST(NetworkStream, EveryByteArrivesOverLoopback) {
    const Port reserved;
    const std::string& port = reserved.text();
    const Capture received;
    const Capture sent;
    const Capture err;
    int code = -1;
    std::thread receiver([&] {
        const std::vector<std::string_view> given{"receive", "--port", port, "--connections", "3"};
        code = network_stream(given, received.file(), err.file());
    });
    const std::vector<std::string_view> given{
        "send", "--to",           "127.0.0.1", "--port",     port, "--connections",
        "3",    "--milliseconds", "50",        "--interval", "10"};
    EXPECT_EQ(network_stream(given, sent.file(), err.file()), 0) << sent.text();
    receiver.join();
    EXPECT_EQ(code, 0) << received.text();
    const auto bytes = sent.text().substr(sent.text().find("\"bytes\":"));
    EXPECT_TRUE(contains(received.text(), bytes.substr(0, bytes.find(','))));
    EXPECT_TRUE(contains(received.text(), "\"gap_s\":"));
    EXPECT_TRUE(contains(sent.text(), "\"interval_bytes\":["));
}

TEST(NetworkStream, BytesOfAnotherProgramDoNotVerify) {
    const Port reserved;
    const std::string& port = reserved.text();
    const Capture received;
    const Capture err;
    std::thread receiver([&] {
        const std::vector<std::string_view> given{"receive", "--port", port};
        EXPECT_EQ(network_stream(given, received.file(), err.file()), 1);
    });
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = -1;
    do {
        close(descriptor);
        descriptor = socket(AF_INET, SOCK_STREAM, 0);
    } while (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0);
    EXPECT_EQ(write(descriptor, "not the pattern", 15), 15);
    close(descriptor);
    receiver.join();
    EXPECT_TRUE(contains(received.text(), "\"verified\":false"));
}

TEST(NetworkStream, WrongCommandLine) {
    const std::vector<std::vector<std::string_view>> cases{
        {}, {"take"}, {"send"}, {"receive", "--port", "0"}, {"receive", "--speed", "1"}};
    for (const auto& given : cases) {
        const Capture out;
        const Capture err;
        EXPECT_EQ(network_stream(given, out.file(), err.file()), 2);
        EXPECT_NE(err.text(), "");
    }
}

}  // namespace
}  // namespace aferir

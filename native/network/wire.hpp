#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "network/trial.hpp"

namespace aferir::network {

/// Messages that the two ends of a connection exchange before and after a trial. A frame is a
/// header of 12 bytes (magic, version, kind, size of the body) and a body according to its kind;
/// numbers are little-endian. All data from the network is checked here before it is used.
inline constexpr std::uint32_t kMagic = 0x534e4641;  // "AFNS"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kTokenBytes = 32;
inline constexpr std::size_t kMostTextBytes = 400;
inline constexpr std::uint64_t kMostStamps = 1024;
inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t kMostRounds = 1'000'000'000;

/// Clock behind one-way delays.
enum class SharedClock : std::uint8_t {
    kNone,
    kCounter,  ///< both ends read the same counter
    kRgap      ///< librgap sets the initiator to the responder's time
};

struct Hello {
    std::array<std::byte, kTokenBytes> token{};
    std::uint64_t host = 0;
    SharedClock clock = SharedClock::kNone;  ///< the best clock that the initiator can and may use
};
struct Welcome {
    std::uint64_t host = 0;
    std::uint8_t counter_trusted = 0;
    std::uint16_t clock_port = 0;  ///< port of the librgap server; 0: none
};
struct Refused {
    std::string reason;
};
struct Start {
    Trial trial;
    SharedClock clock = SharedClock::kNone;
};
struct Ready {};
struct Done {
    std::string error;  ///< empty: the data was right
    std::vector<std::uint64_t> arrived;
    std::vector<std::uint64_t> answered;
};
struct Bye {};

using Frame = std::variant<Hello, Welcome, Refused, Start, Ready, Done, Bye>;

/// The other end violates the protocol; the message has the details.
class ProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~ProtocolError() override;
};

struct Header {
    std::uint16_t kind = 0;
    std::uint32_t length = 0;
};

std::vector<std::byte> encode(const Frame& frame);
/// Parses a header. Errors: ProtocolError for another magic, version or kind, or a longer body than
/// the kind has.
Header parse_header(std::span<const std::byte, kHeaderBytes> bytes);
/// Parses a body. Errors: ProtocolError unless the bytes are exactly one body of that kind, with
/// all values within their bounds.
Frame parse_body(const Header& header, std::span<const std::byte> body);

/// Replaces what is not printable, so that no text from the network can control a terminal.
std::string printable(std::string_view text);

}  // namespace aferir::network

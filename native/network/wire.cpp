#include "network/wire.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace aferir::network {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are sent as they are stored");

class Writer {
  public:
    template <std::integral Integer>
    void number(Integer value) {
        raw(std::as_bytes(std::span(&value, 1)));
    }
    void raw(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void text(std::string_view text) {
        const auto kept = text.substr(0, kMostTextBytes);
        number(static_cast<std::uint32_t>(kept.size()));
        raw(std::as_bytes(std::span(kept)));
    }
    void numbers(const std::vector<std::uint64_t>& values) {
        raw(std::as_bytes(std::span(values)));
    }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

    template <std::integral Integer>
    Integer number() {
        Integer value{};
        const auto bytes = take(sizeof value);
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    template <std::integral Integer>
    Integer number(Integer least, Integer most) {
        const auto value = number<Integer>();
        if (value < least || value > most) {
            throw ProtocolError("a number is out of bounds");
        }
        return value;
    }
    std::span<const std::byte> take(std::size_t count) {
        if (count > left_.size()) {
            throw ProtocolError("a message is shorter than it has to be");
        }
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    std::string text() {
        const auto size = number<std::uint32_t>(0, kMostTextBytes);
        const auto bytes = take(size);
        return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    std::vector<std::uint64_t> numbers(std::size_t count) {
        std::vector<std::uint64_t> values;
        for (std::size_t i = 0; i < count; ++i) {
            // NOLINTNEXTLINE(performance-inefficient-vector-operation): the count is another's word
            values.push_back(number<std::uint64_t>());
        }
        return values;
    }
    void end() const {
        if (!left_.empty()) {
            throw ProtocolError("a message is longer than it has to be");
        }
    }

  private:
    std::span<const std::byte> left_;
};

void write(Writer& out, const Hello& hello) {
    out.raw(hello.token);
    out.number(hello.host);
    out.number(static_cast<std::uint8_t>(hello.clock));
}
void write(Writer& out, const Welcome& welcome) {
    out.number(welcome.host);
    out.number(welcome.counter_trusted);
    out.number(welcome.clock_port);
}
void write(Writer& out, const Refused& refused) { out.text(refused.reason); }
void write(Writer& out, const Start& start) {
    out.number(static_cast<std::uint8_t>(start.trial.mode));
    out.number(start.trial.bytes);
    out.number(start.trial.rounds);
    out.number(start.trial.seed);
    out.number(static_cast<std::uint8_t>(start.trial.stamped));
    out.number(static_cast<std::uint8_t>(start.clock));
}
void write(Writer& /*out*/, const Ready& /*ready*/) {}
void write(Writer& out, const Done& done) {
    out.text(done.error);
    out.number(static_cast<std::uint32_t>(done.arrived.size()));
    out.numbers(done.arrived);
    out.numbers(done.answered);
}
void write(Writer& /*out*/, const Bye& /*bye*/) {}

SharedClock read_clock(Reader& in) {
    constexpr auto kLast = static_cast<std::uint8_t>(SharedClock::kRgap);
    return static_cast<SharedClock>(in.number<std::uint8_t>(0, kLast));
}

Hello read_hello(Reader& in) {
    Hello hello;
    std::ranges::copy(in.take(kTokenBytes), hello.token.begin());
    hello.host = in.number<std::uint64_t>();
    hello.clock = read_clock(in);
    return hello;
}

Welcome read_welcome(Reader& in) {
    Welcome welcome;
    welcome.host = in.number<std::uint64_t>();
    welcome.counter_trusted = in.number<std::uint8_t>(0, 1);
    welcome.clock_port = in.number<std::uint16_t>();
    return welcome;
}

Start read_start(Reader& in) {
    Start start;
    constexpr auto kLast = static_cast<std::uint8_t>(Mode::kStream);
    start.trial.mode = static_cast<Mode>(in.number<std::uint8_t>(0, kLast));
    start.trial.bytes = in.number<std::uint64_t>(1, kMostMessageBytes);
    start.trial.rounds = in.number<std::uint64_t>(1, kMostRounds);
    start.trial.seed = in.number<std::uint64_t>();
    start.trial.stamped = in.number<std::uint8_t>(0, 1) == 1;
    start.clock = read_clock(in);
    const bool sensible = start.trial.mode == Mode::kBlocking && start.trial.rounds <= kMostStamps;
    if (start.trial.stamped && !sensible) {
        throw ProtocolError("time stamps of a trial that can have none");
    }
    return start;
}

Done read_done(Reader& in) {
    Done done;
    done.error = in.text();
    const auto count = in.number<std::uint32_t>(0, kMostStamps);
    done.arrived = in.numbers(count);
    done.answered = in.numbers(count);
    return done;
}

std::size_t most_bytes(std::size_t kind) {
    constexpr std::size_t kText = kMostTextBytes + sizeof(std::uint32_t);
    switch (kind) {
        case 2:
            return kText;
        case 5:
            return kText + sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t) * kMostStamps;
        default:
            return 64;
    }
}

}  // namespace

ProtocolError::~ProtocolError() = default;

std::vector<std::byte> encode(const Frame& frame) {
    Writer body;
    std::visit([&](const auto& kind) { write(body, kind); }, frame);
    const auto bytes = body.take();
    Writer out;
    out.number(kMagic);
    out.number(kVersion);
    out.number(static_cast<std::uint16_t>(frame.index()));
    out.number(static_cast<std::uint32_t>(bytes.size()));
    out.raw(bytes);
    return out.take();
}

Header parse_header(std::span<const std::byte, kHeaderBytes> bytes) {
    Reader in(bytes);
    if (in.number<std::uint32_t>() != kMagic) {
        throw ProtocolError("the other end is no net-sweep: is another program at that address?");
    }
    if (const auto version = in.number<std::uint16_t>(); version != kVersion) {
        throw ProtocolError("the other end speaks version " + std::to_string(version) +
                            " and this one " + std::to_string(kVersion) +
                            ": install the same aferir at both");
    }
    Header header;
    header.kind = in.number<std::uint16_t>(0, std::variant_size_v<Frame> - 1);
    header.length =
        in.number<std::uint32_t>(0, static_cast<std::uint32_t>(most_bytes(header.kind)));
    return header;
}

Frame parse_body(const Header& header, std::span<const std::byte> body) {
    Reader in(body);
    const auto frame = [&]() -> Frame {
        switch (header.kind) {
            case 0:
                return read_hello(in);
            case 1:
                return read_welcome(in);
            case 2:
                return Refused{in.text()};
            case 3:
                return read_start(in);
            case 4:
                return Ready{};
            case 5:
                return read_done(in);
            case 6:
                return Bye{};
            default:
                throw ProtocolError("a message of no known kind");
        }
    }();
    in.end();
    return frame;
}

std::string printable(std::string_view text) {
    std::string kept(text);
    std::ranges::replace_if(kept, [](char c) { return c < ' ' || c > '~'; }, '?');
    return kept;
}

}  // namespace aferir::network

#include "network/server.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "aferir/rgap.h"
#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "network/rounds.hpp"

namespace aferir::network {
namespace {

constexpr std::size_t kMostSessions = 1024;

// Compares in constant time, which does not reveal the length of the matching part.
bool same(const Token& one, const Token& other) {
    std::byte difference{0};
    for (std::size_t i = 0; i < one.size(); ++i) {
        difference |= one.at(i) ^ other.at(i);
    }
    return difference == std::byte{0};
}

/// Memory for messages, which grows to the size of the largest one.
class Room {
  public:
    Buffers& of(std::uint64_t bytes) {
        if (!buffers_ || bytes > bytes_) {
            buffers_.reset();
            buffers_ = std::make_unique<Buffers>(bytes);
            bytes_ = bytes;
        }
        return *buffers_;
    }

  private:
    std::unique_ptr<Buffers> buffers_;
    std::uint64_t bytes_ = 0;
};

Done take_part(Connection& connection, Buffers& buffers, const Start& start,
               const Timeline& timeline) {
    Stamps stamps;
    buffers.prepare(start.trial, End::kResponder);
    stamps.arrived.reserve(kMostStamps);
    stamps.answered.reserve(kMostStamps);
    Timeline::Reader reader(timeline);
    Timeline::Ticks ticks;
    connection.send_frame(Ready{});
    if (!start.trial.stamped) {
        respond(connection, buffers, start.trial);
    } else if (start.clock == SharedClock::kCounter) {
        respond_stamped(connection, buffers, start.trial, ticks, stamps);
    } else {
        respond_stamped(connection, buffers, start.trial, reader, stamps);
    }
    Done done{{}, std::move(stamps.arrived), std::move(stamps.answered)};
    if (const auto at = buffers.wrong(start.trial, End::kResponder)) {
        done.error = corruption(start.trial, *at, "server");
    }
    return done;
}

}  // namespace

Token token_of(std::string_view text) {
    Token token{};
    if (text.size() > token.size()) {
        throw UsageError("--token is too long; give at most " + std::to_string(token.size()) +
                         " characters");
    }
    std::memcpy(token.data(), text.data(), text.size());
    return token;
}

Server::Server(ServerOptions options)
    : options_(std::move(options)),
      listener_(options_.address, options_.socket),
      clock_(nullptr, rgap_server_stop) {}

Server::~Server() {
    stop();
    for (auto& session : sessions_) {
        session.connection.abort();
    }
    sessions_.clear();
}

void Server::stop() {
    stopping_ = true;
    listener_.abort();
}

void Server::serve() {
    while (!stopping_) {
        try {
            admit(listener_.accept(options_.socket));
        } catch (const NetworkError&) {
            if (!stopping_) {
                throw;
            }
        }
    }
}

void Server::admit(Connection connection) {
    sessions_.remove_if([](const Session& session) { return session.over.load(); });
    if (sessions_.size() >= kMostSessions) {
        connection.send_frame(Refused{"it has as many clients as it takes; try again later"});
        return;
    }
    auto& session = sessions_.emplace_back(std::move(connection));
    session.thread = std::jthread([this, &session] {
        run(session.connection);
        session.over = true;
    });
}

// An error of a client ends its own session and no other.
void Server::run(Connection& connection) {
    try {
        welcome(connection);
        answer(connection);
    } catch (const std::exception& error) {
        if (options_.report && !stopping_) {
            options_.report(error.what());
        }
    }
}

void Server::welcome(Connection& connection) {
    const auto hello = connection.expect<Hello>();
    if (!same(hello.token, options_.token)) {
        connection.send_frame(Refused{"it was started with another --token"});
        throw NetworkError("a client with another token was turned away");
    }
    const bool trusted = timeline_.counter_trusted();
    const auto port = hello.clock == SharedClock::kRgap ? clock_port() : std::uint16_t{0};
    connection.send_frame(
        Welcome{host_identity(), static_cast<std::uint8_t>(trusted ? 1 : 0), port});
}

void Server::answer(Connection& connection) {
    Room room;
    for (;;) {
        const auto frame = connection.receive_frame();
        if (std::holds_alternative<Bye>(frame)) {
            return;
        }
        const auto* start = std::get_if<Start>(&frame);
        if (start == nullptr) {
            throw ProtocolError("the client said something out of turn");
        }
        if (start->trial.bytes > options_.most_bytes) {
            connection.send_frame(Refused{"its messages may have " +
                                          std::to_string(options_.most_bytes) + " bytes at most"});
            throw NetworkError("a client asked for larger messages than are allowed");
        }
        try {
            connection.send_frame(
                take_part(connection, room.of(start->trial.bytes), *start, timeline_));
        } catch (const OutOfMemory& error) {
            connection.send_frame(Refused{error.what()});
            throw;
        }
    }
}

std::uint16_t Server::clock_port() {
    const std::scoped_lock lock(clock_mutex_);
    if (!clock_) {
        rgap_server_config config{};
        rgap_server_config_init(&config);
        config.address = options_.address.host.c_str();
        config.key = reinterpret_cast<const std::uint8_t*>(options_.token.data());
        config.key_length = options_.token.size();
        config.source = rgap_source_rvec(timeline_.handle());
        rgap_server* started = nullptr;
        if (rgap_server_start(&started, &config) != RGAP_OK) {
            return 0;  // a sweep without one-way delays
        }
        clock_.reset(started);
    }
    rgap_server_facts facts{};
    rgap_server_info(clock_.get(), &facts);
    return facts.port;
}

}  // namespace aferir::network

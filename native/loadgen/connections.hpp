#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/reply.hpp"
#include "loadgen/requests_source.hpp"
#include "loadgen/socket.hpp"

namespace aferir::loadgen {

/// A connection, with the request that it carries, or else its last one.
struct Connection {
    Descriptor socket;
    /// The rest of the request that is still to be sent.
    std::string out;
    Reply answer;
    Wanted wanted;
    bool busy = false;
    /// The server has closed its side; a response that it sent before may still be unread.
    bool ended = false;
    std::uint64_t requests = 0;
    /// Time in ns at which the latest byte of the response arrived.
    Nanoseconds last = 0;
    /// Index of the plan's address that it is connected to.
    std::size_t address = 0;
    /// Whether it is connected to the target's own host, rather than one that an answer redirected
    /// to.
    bool is_at_home = true;
    /// Number of connections opened in this place so far, with this one: an event with another
    /// number is of an earlier one.
    std::uint32_t serial = 0;
};

/// A fixed number of places for connections, each of which is busy, idle or unused. Idle
/// connections are kept by group: those of one group go to the same host.
class Connections {
  public:
    Connections(std::size_t count, std::size_t groups) : places_(count), idle_(groups) {
        for (std::size_t k = count; k > 0; --k) {
            unused_.push_back(static_cast<std::uint32_t>(k - 1));
        }
    }

    Connection& operator[](std::uint32_t number) { return places_[number]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
    [[nodiscard]] std::size_t open() const { return places_.size() - unused_.size(); }

    /// True if a request can be sent without waiting for an answer to another one.
    [[nodiscard]] bool available() const {
        return !unused_.empty() ||
               std::ranges::any_of(idle_, [](const auto& idle) { return !idle.empty(); });
    }

    /// The idle connection of a group that was used last.
    std::optional<std::uint32_t> take_idle(std::size_t group) {
        std::vector<std::uint32_t>& idle = idle_[group];
        if (idle.empty()) {
            return std::nullopt;
        }
        const std::uint32_t number = idle.back();
        idle.pop_back();
        return number;
    }

    /// A place for a new connection. If none is unused, the idle connection of any group that was
    /// used longest ago is closed.
    std::optional<std::uint32_t> take_unused() {
        if (unused_.empty()) {
            close_idle();
        }
        if (unused_.empty()) {
            return std::nullopt;
        }
        const std::uint32_t number = unused_.back();
        unused_.pop_back();
        Connection& made = places_[number];
        const std::uint32_t serial = made.serial + 1;
        made = Connection{};
        made.serial = serial;
        return number;
    }

    void keep(std::uint32_t number, std::size_t group) { idle_[group].push_back(number); }

    void close(std::uint32_t number) {
        places_[number].socket.close();
        unused_.push_back(number);
    }

    /// Close a connection that is idle in that group.
    void close_idle(std::uint32_t number, std::size_t group) {
        std::erase(idle_[group], number);
        close(number);
    }

  private:
    void close_idle() {
        for (std::vector<std::uint32_t>& idle : idle_) {
            if (!idle.empty()) {
                close(idle.front());
                idle.erase(idle.begin());
                return;
            }
        }
    }

    std::vector<Connection> places_;
    /// Numbers of the idle connections of each group, the one that was used last at the end.
    std::vector<std::vector<std::uint32_t>> idle_;
    std::vector<std::uint32_t> unused_;
};

}  // namespace aferir::loadgen

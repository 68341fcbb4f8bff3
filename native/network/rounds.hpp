#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>

#include "network/trial.hpp"

namespace aferir::network {

/// A connection between two ends that keeps messages in order. Each call returns when all bytes are
/// sent, or received; an empty span is no message.
template <typename T>
concept Line = requires(T line, std::span<const std::byte> out, std::span<std::byte> in) {
    line.send(out);
    line.receive(in);
    line.exchange(out, in);  // the receive is posted first
};

/// A clock in nanoseconds that never decreases.
template <typename T>
concept Clock = requires(T clock) {
    { clock() } -> std::same_as<std::uint64_t>;
};

namespace detail {

template <Line L>
void initiate_round(L& line, Buffers& buffers, Mode mode) {
    switch (mode) {
        case Mode::kBlocking:
            line.send(buffers.out());
            line.receive(buffers.in());
            break;
        case Mode::kAsync:
        case Mode::kBidirectional:
            line.exchange(buffers.out(), buffers.in());
            buffers.swap();
            break;
        case Mode::kStream:
            line.send(buffers.out());
            break;
    }
}

}  // namespace detail

/// Runs the measuring end. Stores the duration of each round in `rounds`, in nanoseconds, and
/// returns the sum. In a stream the last round lasts until the responder has confirmed that
/// everything arrived.
template <Line L, Clock C>
std::uint64_t initiate(L& line, Buffers& buffers, const Trial& trial, C& clock, Histogram& rounds) {
    const std::uint64_t start = clock();
    std::uint64_t last = start;
    for (std::uint64_t i = 0; i < trial.rounds; ++i) {
        detail::initiate_round(line, buffers, trial.mode);
        if (trial.mode == Mode::kStream && i + 1 == trial.rounds) {
            std::array<std::byte, 1> confirmed{};
            line.receive(confirmed);
        }
        const std::uint64_t now = clock();
        rounds.add(now - last);
        last = now;
    }
    return last - start;
}

/// Runs the responding end.
template <Line L>
void respond(L& line, Buffers& buffers, const Trial& trial) {
    if (trial.mode == Mode::kAsync) {
        line.exchange({}, buffers.in());
        buffers.swap();
    }
    for (std::uint64_t i = 0; i < trial.rounds; ++i) {
        const bool last = i + 1 == trial.rounds;
        switch (trial.mode) {
            case Mode::kBlocking:
                line.receive(buffers.in());
                line.send(buffers.out());
                break;
            case Mode::kAsync:
                line.exchange(buffers.out(), last ? std::span<std::byte>{} : buffers.in());
                if (!last) {
                    buffers.swap();
                }
                break;
            case Mode::kBidirectional:
                line.exchange(buffers.out(), buffers.in());
                buffers.swap();
                break;
            case Mode::kStream:
                line.receive(buffers.in());
                break;
        }
    }
    if (trial.mode == Mode::kStream) {
        line.send(std::array<std::byte, 1>{});
    }
}

/// Runs the measuring end of a stamped trial in blocking mode: records, by `clock`, when each
/// message leaves and returns.
template <Line L, Clock C>
void initiate_stamped(L& line, Buffers& buffers, const Trial& trial, C& clock, Stamps& stamps) {
    for (std::uint64_t i = 0; i < trial.rounds; ++i) {
        stamps.sent.push_back(clock());
        line.send(buffers.out());
        line.receive(buffers.in());
        stamps.returned.push_back(clock());
    }
}

/// Runs the responding end of a stamped trial.
template <Line L, Clock C>
void respond_stamped(L& line, Buffers& buffers, const Trial& trial, C& clock, Stamps& stamps) {
    for (std::uint64_t i = 0; i < trial.rounds; ++i) {
        line.receive(buffers.in());
        stamps.arrived.push_back(clock());
        stamps.answered.push_back(clock());
        line.send(buffers.out());
    }
}

}  // namespace aferir::network

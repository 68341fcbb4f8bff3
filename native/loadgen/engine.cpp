#include "loadgen/engine.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "loadgen/limits.hpp"
#include "loadgen/wheel.hpp"

namespace aferir::loadgen {

namespace {

class Engine {
  public:
    Engine(const Settings& settings, std::span<const Arrival> arrivals,
           std::optional<Nanoseconds> begin)
        : epoll_(epoll_create1(EPOLL_CLOEXEC)), now_(monotonic_now()), wheel_(now_) {
        run_.began = begin.value_or(now_);
        run_.clients.reserve(arrivals.size());
        for (const Arrival& arrival : arrivals) {
            run_.clients.emplace_back(settings, run_.began + arrival.after_start, arrival.watch);
        }
        alarms_.assign(arrivals.size(), kNever);
    }

    Run go() {
        const double cpu_before = cpu_seconds();
        while (finished_ < run_.clients.size()) {
            turn();
        }
        run_.ended = now_;
        book_second(now_);
        run_.health.cpu_s = cpu_seconds() - cpu_before;
        return std::move(run_);
    }

  private:
    void turn() {
        std::array<epoll_event, 1024> events;
        const int count =
            epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), timeout());
        const Nanoseconds woken = now_ = monotonic_now();
        book_second(now_);
        for (int k = 0; k < count; ++k) {
            const std::uint32_t client = events[static_cast<std::size_t>(k)].data.u32;
            see_to(client, [&](Client& it) { it.look(now_); });
        }
        wheel_.advance(now_, [&](std::uint32_t client) {
            if (alarms_[client] <= now_) {
                alarms_[client] = kNever;
                see_to(client, [&](Client& it) { it.ring(now_); });
            }
        });
        start_due();
        run_.health.worst_turn = std::max(run_.health.worst_turn, monotonic_now() - woken);
    }

    /// Time in milliseconds until the next alarm, rounded up: waking a moment early would be
    /// useless.
    [[nodiscard]] int timeout() const {
        Nanoseconds next = wheel_.next();
        if (started_ < run_.clients.size()) {
            next = std::min(next, run_.clients[started_].intended());
        }
        const Nanoseconds left = std::clamp<Nanoseconds>(next - monotonic_now(), 0, kSecond);
        return static_cast<int>((left + 999'999) / 1'000'000);
    }

    void start_due() {
        while (started_ < run_.clients.size() && run_.clients[started_].intended() <= now_) {
            now_ = monotonic_now();
            const Nanoseconds late = now_ - run_.clients[started_].intended();
            run_.health.worst_start = std::max(run_.health.worst_start, late);
            see_to(static_cast<std::uint32_t>(started_), [&](Client& it) { it.start(now_); });
            ++started_;
        }
    }

    template <typename Act>
    void see_to(std::uint32_t number, Act&& act) {
        Client& client = run_.clients[number];
        const bool was_done = client.done();
        const bool was_streaming = client.streaming();
        const bool had_to_send = client.wants_to_send();
        now_ = monotonic_now();
        act(client);
        streaming_ += static_cast<int>(client.streaming()) - static_cast<int>(was_streaming);
        bytes_ += client.take_bytes();
        finished_ += client.done() && !was_done ? 1 : 0;
        watch(number, client, had_to_send);
        const Nanoseconds alarm = std::min(client.alarm(), wheel_.horizon());
        if (!client.done() && alarm < alarms_[number]) {
            alarms_[number] = alarm;
            wheel_.add(number, alarm);
        }
    }

    void watch(std::uint32_t number, Client& client, bool had_to_send) {
        const bool fresh = client.take_fresh();
        if (!client.socket().open() || (!fresh && had_to_send == client.wants_to_send())) {
            return;
        }
        epoll_event event{};
        event.events = client.wants_to_send() ? EPOLLIN | EPOLLOUT : EPOLLIN;
        event.data.u32 = number;
        epoll_ctl(epoll_.number(), fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, client.socket().number(),
                  &event);
    }

    /// Records all whole seconds before `now`.
    void book_second(Nanoseconds now) {
        while (now - run_.began >= kSecond * static_cast<Nanoseconds>(run_.bytes.size() + 1)) {
            run_.bytes.push_back(std::exchange(bytes_, 0));
            run_.streaming.push_back(streaming_);
        }
    }

    Descriptor epoll_;
    Nanoseconds now_;
    Wheel wheel_;
    Run run_;
    /// For each client, its earliest alarm in the wheel.
    std::vector<Nanoseconds> alarms_;
    std::size_t started_ = 0;
    std::size_t finished_ = 0;
    int streaming_ = 0;
    std::int64_t bytes_ = 0;
};

}  // namespace

Run run_clients(const Settings& settings, std::span<const Arrival> arrivals,
                std::optional<Nanoseconds> begin) {
    allow_files(arrivals.size());
    return Engine(settings, arrivals, begin).go();
}

}  // namespace aferir::loadgen

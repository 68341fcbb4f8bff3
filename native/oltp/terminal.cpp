#include "oltp/terminal.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

namespace aferir::oltp {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

struct Terminal {
    Connection connection;
    Brokerage brokerage;
    Result result;
    std::exception_ptr error;

    Terminal(const std::string& socket, const Scale& scale, std::uint64_t seed)
        : connection(socket, "brokerage"), brokerage(connection, scale, seed) {}

    void work(std::int64_t transactions) {
        try {
            auto before = Clock::now();
            for (std::int64_t number = 0; number < transactions; ++number) {
                const Kind kind = brokerage.draw();
                result.retries += brokerage.run(kind);
                const auto after = Clock::now();
                result.latencies_s.push_back(seconds(after - before));
                ++result.done[kind];
                before = after;
            }
        } catch (...) {
            error = std::current_exception();
        }
    }
};

void add(Result& whole, const Terminal& terminal) {
    const auto& one = terminal.result;
    whole.latencies_s.insert(whole.latencies_s.end(), one.latencies_s.begin(),
                             one.latencies_s.end());
    for (const auto& [kind, count] : one.done) {
        whole.done[kind] += count;
    }
    whole.retries += one.retries;
    whole.books += terminal.brokerage.books();
}

}  // namespace

Result run_terminals(const std::string& socket, const Scale& scale, int terminals,
                     std::int64_t transactions, std::uint64_t seed) {
    std::vector<std::unique_ptr<Terminal>> all;
    all.reserve(static_cast<std::size_t>(terminals));
    for (int number = 0; number < terminals; ++number) {
        all.push_back(std::make_unique<Terminal>(socket, scale,
                                                 seed * 1'000'003 + static_cast<unsigned>(number)));
    }
    std::barrier start(terminals + 1);
    Clock::time_point begin;
    {
        std::vector<std::jthread> threads;
        for (int number = 0; number < terminals; ++number) {
            const auto share = transactions / terminals + (number < transactions % terminals);
            threads.emplace_back([&start, share, &one = *all[static_cast<std::size_t>(number)]] {
                start.arrive_and_wait();
                one.work(share);
            });
        }
        begin = Clock::now();
        start.arrive_and_wait();
    }
    Result whole;
    whole.duration_s = seconds(Clock::now() - begin);
    for (const auto& one : all) {
        if (one->error) {
            std::rethrow_exception(one->error);
        }
        add(whole, *one);
    }
    return whole;
}

double percentile(std::vector<double>& values, double percent) {
    std::sort(values.begin(), values.end());
    const auto place = static_cast<std::size_t>(percent / 100 * static_cast<double>(values.size()));
    return values[std::min(place, values.size() - 1)];
}

}  // namespace aferir::oltp

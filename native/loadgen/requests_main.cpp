#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "common/program.hpp"
#include "loadgen/cache.hpp"
#include "loadgen/redis.hpp"
#include "loadgen/requests.hpp"

namespace {

using namespace std::string_view_literals;
using aferir::Arguments;
using aferir::UsageError;
using aferir::loadgen::Measured;
using aferir::loadgen::Nanoseconds;
using aferir::loadgen::Plan;
using aferir::loadgen::Step;

constexpr std::string_view kProgram = "request-clients";
constexpr std::array kNames{"--url"sv,      "--urls"sv,    "--host"sv,     "--addresses"sv,
                            "--rate"sv,     "--users"sv,   "--think"sv,    "--ramp-down"sv,
                            "--duration"sv, "--warm-up"sv, "--patience"sv, "--connections"sv,
                            "--reuse"sv,    "--seed"sv,    "--log"sv};
constexpr std::array kFlags{"--help"sv};
constexpr std::string_view kHelp =
    "request-clients --url http://ADDRESS:PORT/PATH --rate N [options]\n"
    "An open loop of requests, or of gets of memcached:// or redis://ADDRESS:PORT/KEY,KEY..., at\n"
    "exponential distances, or a closed one; a latency counts from the moment at which its request "
    "was intended.\n"
    "Prints one line of JSON.\n"
    "  --urls FILE        instead of --url, a line each: WEIGHT URL\n"
    "  --host NAME        that HTTP servers are asked for, where it is not the address\n"
    "  --addresses A,B    all of the host; the first one that answers is kept to, and the next "
    "one\n"
    "                     taken when it does not\n"
    "  --rate N|S:N,...   requests a second, from second S on\n"
    "  --users N          instead of --rate, a closed loop: each user asks again when it has its\n"
    "                     answer and has thought; they begin one after another in the warm-up\n"
    "  --think S          that a user thinks, on average (0)\n"
    "  --duration S       (10)\n"
    "  --warm-up S        sent and not counted, part of the duration (0)\n"
    "  --ramp-down S      the same at the end (0)\n"
    "  --patience S       a request without an answer by then has failed (10)\n"
    "  --connections N    at most (512)\n"
    "  --reuse N          requests that one connection carries at most (all that the server lets)\n"
    "  --seed N           of moments and choices (1)\n"
    "  --log FILE         a line of JSON for each counted request; -: on standard output as soon "
    "as it\n"
    "                     has ended, and nothing else";

double number_of(std::string_view text, std::string_view what, double least, double most) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    const bool possible = whole && value >= least && value <= most;  // which NaN is not
    if (!possible) {
        throw UsageError(std::string(what) + " " + std::string(text) + " is no possible number");
    }
    return value;
}

Nanoseconds seconds(const Arguments& given, std::string_view name, std::string_view otherwise,
                    double least) {
    return std::llround(number_of(given.value(name).value_or(otherwise), name, least, 1e6) * 1e9);
}

std::vector<Step> steps_of(std::string_view text) {
    std::vector<Step> steps;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t colon = part.find(':');
        Step step;
        if (colon != std::string_view::npos) {
            step.after = std::llround(number_of(part.substr(0, colon), "--rate", 0.0, 1e6) * 1e9);
        }
        const std::string_view rate =
            colon == std::string_view::npos ? part : part.substr(colon + 1);
        step.rate = number_of(rate, "--rate", 0.0, 1e6);
        if (!steps.empty() && step.after <= steps.back().after) {
            throw UsageError("--rate: its steps have to be in order of time");
        }
        steps.push_back(step);
    }
    if (steps.empty()) {
        throw UsageError("--rate is needed: requests a second");
    }
    return steps;
}

aferir::loadgen::Weighted weighted(std::string_view url, double weight) {
    using aferir::loadgen::Protocol;
    if (const auto target = aferir::loadgen::parse_url(url)) {
        return {*target, weight, Protocol::kHttp};
    }
    if (const auto target = aferir::loadgen::parse_cache_url(url)) {
        return {*target, weight, Protocol::kMemcached};
    }
    if (const auto target = aferir::loadgen::parse_redis_url(url)) {
        return {*target, weight, Protocol::kRedis};
    }
    throw UsageError("`" + std::string(url) +
                     "` is none of http://ADDRESS:PORT/PATH, memcached://ADDRESS:PORT/KEY,... and "
                     "redis://ADDRESS:PORT/KEY,... with a numeric address");
}

std::vector<aferir::loadgen::Weighted> targets_of(const Arguments& given) {
    std::vector<aferir::loadgen::Weighted> targets;
    if (const auto path = given.value("--urls")) {
        std::ifstream file{std::string(*path)};
        std::string line;
        while (std::getline(file, line)) {
            std::istringstream fields(line);
            std::string weight;
            std::string url;
            fields >> weight >> url;
            targets.push_back(weighted(url, number_of(weight, "a weight of", 1e-9, 1e9)));
        }
        if (targets.empty()) {
            throw UsageError("the URLs " + std::string(*path) + " cannot be read, or are none");
        }
        return targets;
    }
    targets.push_back(weighted(given.value("--url").value_or(""), 1.0));
    return targets;
}

/// The plan's only target at each address of its host.
std::vector<aferir::loadgen::Target> addresses_of(const Plan& plan, std::string_view text) {
    std::vector<aferir::loadgen::Target> found;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const auto one = aferir::loadgen::at_address(plan.targets.front().target,
                                                     std::string(text.substr(0, comma)));
        if (!one || plan.targets.size() > 1) {
            throw UsageError("--addresses wants numeric addresses of the host of one --url");
        }
        found.push_back(*one);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return found;
}

Plan plan_of(const Arguments& given) {
    Plan plan;
    plan.targets = targets_of(given);
    plan.host = given.value("--host").value_or("");
    if (!std::ranges::all_of(plan.host, [](char c) { return c > ' ' && c < '\x7f'; })) {
        throw UsageError("--host " + plan.host + " is no name of a host");
    }
    plan.addresses = addresses_of(plan, given.value("--addresses").value_or(""));
    const auto users = given.integer("--users", 0, 0, 60'000);
    plan.users = static_cast<std::size_t>(users);
    if (plan.users > 0 && given.value("--rate")) {
        throw UsageError("--users is a closed loop and --rate an open one: give one of them");
    }
    if (plan.users == 0) {
        plan.steps = steps_of(given.value("--rate").value_or(""));
    }
    plan.think = seconds(given, "--think", "0", 0.0);
    plan.duration = seconds(given, "--duration", "10", 1e-3);
    plan.warm_up = seconds(given, "--warm-up", "0", 0.0);
    plan.ramp_down = seconds(given, "--ramp-down", "0", 0.0);
    plan.patience = seconds(given, "--patience", "10", 1e-3);
    const auto connections = given.integer("--connections", std::max(512LL, users), 1, 60'000);
    plan.connections = static_cast<std::size_t>(connections);
    plan.reuse = static_cast<std::uint64_t>(given.integer("--reuse", 0, 0, 1'000'000'000));
    plan.seed = static_cast<std::uint64_t>(given.integer("--seed", 1, 0, 1'000'000'000));
    if (plan.warm_up + plan.ramp_down >= plan.duration) {
        throw UsageError(
            "--warm-up and --ramp-down have to be shorter than --duration, which they are part of");
    }
    return plan;
}

void write_line(std::ostream& out, const aferir::loadgen::Asked& asked, std::string_view failure) {
    aferir::JsonObject line;
    line.number("intended_s", static_cast<double>(asked.intended) * 1e-9)
        .number("latency_s", static_cast<double>(asked.latency) * 1e-9)
        .integer("status", asked.status)
        .integer("url", asked.target);
    if (!failure.empty()) {
        line.text("failure", failure);
    }
    out << line.str() << '\n';
}

void follow(const Plan& plan) {
    aferir::loadgen::send_requests(plan, [](const auto& asked, std::string_view failure) {
        write_line(std::cout, asked, failure);
        std::cout.flush();
    });
}

Measured measure(const Plan& plan, const std::string& path) {
    // Kept in memory until the end: writing must not delay a request.
    std::ostringstream lines;
    const auto write = [&lines](const auto& asked, std::string_view failure) {
        write_line(lines, asked, failure);
    };
    Measured measured = aferir::loadgen::send_requests(plan, write);
    std::ofstream log(path);
    if (!(log << lines.view()).flush()) {
        throw UsageError("the log " + path + " cannot be written");
    }
    return measured;
}

}  // namespace

int main(int count, char** values) {
    const std::vector<std::string_view> words(values + 1, values + count);
    return aferir::run_program(kProgram, stderr, [&] {
        const Arguments given(words, kNames, kFlags);
        if (given.has("--help")) {
            aferir::print_line(stdout, kHelp);
            return static_cast<int>(aferir::kVerified);
        }
        const Plan plan = plan_of(given);
        const auto log = given.value("--log");
        if (log == "-") {
            follow(plan);
            return static_cast<int>(aferir::kVerified);
        }
        const Measured measured =
            log ? measure(plan, std::string(*log)) : aferir::loadgen::send_requests(plan);
        aferir::print_line(stdout, aferir::loadgen::summary(measured, plan));
        return static_cast<int>(aferir::kVerified);
    });
}

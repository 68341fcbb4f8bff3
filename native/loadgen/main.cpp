#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/arguments.hpp"
#include "common/program.hpp"
#include "loadgen/engine.hpp"
#include "loadgen/report.hpp"
#include "loadgen/schedule.hpp"

namespace {

using namespace std::string_view_literals;
using aferir::Arguments;
using aferir::UsageError;
using aferir::loadgen::Arrival;
using aferir::loadgen::Settings;

constexpr std::string_view kProgram = "video-clients";
constexpr std::array kNames{"--url"sv,      "--bitrate"sv, "--startup"sv,  "--patience"sv,
                            "--schedule"sv, "--clients"sv, "--interval"sv, "--begin"sv,
                            "--silence"sv,  "--log"sv,     "--rule"sv,     "--buffer"sv};
constexpr std::array kFlags{"--help"sv};
constexpr std::string_view kHelp =
    "video-clients --url http://ADDRESS:PORT/PATH [options]\n"
    "Viewers of a video: each asks, follows one redirection, and checks that every byte is there\n"
    "when it is to be played. Prints one line of JSON.\n"
    "  --bitrate BPS     of the video, bit/s (2698000)\n"
    "  --startup S       seconds of video that are buffered before playing begins (2)\n"
    "  --patience S      how long a viewer waits for the answer of the first server (60)\n"
    "  --schedule FILE   a line each: SECONDS [WATCH_SECONDS]; - is standard input\n"
    "  --clients N       instead of a schedule: so many (1), ...\n"
    "  --interval S      ... this far apart (0)\n"
    "  --begin S         when times begin to count, on CLOCK_MONOTONIC (now)\n"
    "  --silence S       a server that sends nothing for so long has failed (30)\n"
    "  --log FILE        a line of JSON for each viewer\n"
    "  --rule NAME       the URL is of a manifest (MPEG-DASH), and this is how viewers choose the\n"
    "                    rate of each segment: throughput, buffer or highest\n"
    "  --buffer S        of a video in segments: seconds that are buffered at most (12)";

double seconds(const Arguments& given, std::string_view name, double otherwise, double least) {
    const std::optional<std::string_view> text = given.value(name);
    if (!text) {
        return otherwise;
    }
    double value = 0.0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size() || std::isnan(value) ||
        value < least || value > 1e10) {
        throw UsageError(std::string(name) + " " + std::string(*text) + " is no possible number");
    }
    return value;
}

aferir::loadgen::Nanoseconds nanoseconds(double value) { return std::llround(value * 1e9); }

Settings settings_of(const Arguments& given) {
    const std::string_view url = given.value("--url").value_or("");
    const auto target = aferir::loadgen::parse_url(url);
    if (!target) {
        throw UsageError("--url is needed, as http://ADDRESS:PORT/PATH with a numeric address");
    }
    Settings settings;
    settings.start = *target;
    settings.bytes_per_second = seconds(given, "--bitrate", 2.698e6, 1.0) / 8.0;
    settings.startup_s = seconds(given, "--startup", 2.0, 0.0);
    settings.patience = nanoseconds(seconds(given, "--patience", 60.0, 0.0));
    settings.silence = nanoseconds(seconds(given, "--silence", 30.0, 0.1));
    settings.most_buffer_s = seconds(given, "--buffer", settings.most_buffer_s, 0.0);
    if (const auto rule = given.value("--rule")) {
        const auto named = aferir::loadgen::rule_named(*rule);
        if (!named) {
            throw UsageError("--rule: throughput, buffer or highest");
        }
        settings.rule = *named;
    }
    return settings;
}

std::vector<Arrival> arrivals_of(const Arguments& given) {
    if (const auto path = given.value("--schedule")) {
        if (*path == "-") {
            return aferir::loadgen::read_schedule(std::cin);
        }
        std::ifstream file{std::string(*path)};
        if (!file) {
            throw UsageError("the schedule " + std::string(*path) + " cannot be read");
        }
        return aferir::loadgen::read_schedule(file);
    }
    const auto clients = given.integer("--clients", 1, 1, 1'000'000);
    const double interval = seconds(given, "--interval", 0.0, 0.0);
    std::vector<Arrival> arrivals;
    arrivals.reserve(static_cast<std::size_t>(clients));
    for (long long k = 0; k < clients; ++k) {
        arrivals.push_back({nanoseconds(interval * static_cast<double>(k)), 0});
    }
    return arrivals;
}

void write_log(const std::string& path, const aferir::loadgen::Run& run) {
    std::ofstream log(path);
    for (const auto& client : run.clients) {
        log << aferir::loadgen::client_line(client, run.began) << '\n';
    }
    if (!log.flush()) {
        throw UsageError("the log " + path + " cannot be written");
    }
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
        const Settings settings = settings_of(given);
        const std::vector<Arrival> arrivals = arrivals_of(given);
        std::optional<aferir::loadgen::Nanoseconds> begin;
        if (given.has("--begin")) {
            begin = nanoseconds(seconds(given, "--begin", 0.0, 0.0));
        }
        const aferir::loadgen::Run run = aferir::loadgen::run_clients(settings, arrivals, begin);
        if (const auto log = given.value("--log")) {
            write_log(std::string(*log), run);
        }
        aferir::print_line(stdout, aferir::loadgen::summary(run));
        return static_cast<int>(aferir::kVerified);
    });
}

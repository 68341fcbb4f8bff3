#include "network/sweep.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace aferir::network {
namespace {

constexpr std::uint64_t kStampedRounds = 256;
constexpr double kFirstGuessS = 1e-4;
constexpr std::array<std::pair<const char*, double>, 4> kQuantiles{
    {{"p50_s", 0.5}, {"p90_s", 0.9}, {"p99_s", 0.99}, {"p999_s", 0.999}}};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Seed of a trial's data, different for each, so that data left over from another trial is
// recognised.
std::uint64_t seed_of(std::uint64_t bytes, std::uint64_t trial) { return bytes * 1000 + trial; }

SizeFigures measure(Transport& transport, const SweepOptions& options, std::uint64_t bytes,
                    double& round_s) {
    Trial trial{options.mode, bytes, rounds_of_warm_up(options.rule, round_s), seed_of(bytes, 0)};
    round_s = transport.run(trial).longest_s / static_cast<double>(trial.rounds);
    trial.rounds = rounds_of_trial(options.rule, round_s);
    SizeFigures figures;
    figures.bytes = bytes;
    figures.rounds = trial.rounds;
    std::vector<double> means;
    std::vector<double> longest;
    for (std::uint64_t k = 1; k <= options.trials; ++k) {
        trial.seed = seed_of(bytes, k);
        const auto result = transport.run(trial);
        means.push_back(result.mean_s / static_cast<double>(trial.rounds));
        longest.push_back(result.longest_s / static_cast<double>(trial.rounds));
        figures.round_ns.merge(result.rounds);
    }
    figures.latency_s = latency_of(options.mode, *std::min_element(means.begin(), means.end()));
    figures.median_latency_s = latency_of(options.mode, median(means));
    figures.throughput_bps = messages_of(options.mode) * static_cast<double>(options.pairs) *
                             static_cast<double>(bytes) /
                             *std::min_element(longest.begin(), longest.end());
    if (options.mode == Mode::kBlocking) {
        trial.rounds = std::min(trial.rounds, kStampedRounds);
        trial.stamped = true;
        figures.delays = transport.run_stamped(trial);
    }
    return figures;
}

std::string json_of(const SizeFigures& size, Mode mode) {
    JsonObject json;
    json.integer("message_bytes", size.bytes)
        .integer("rounds", size.rounds)
        .number("latency_s", size.latency_s)
        .number("median_latency_s", size.median_latency_s)
        .number("throughput_bps", size.throughput_bps)
        .number("min_s", latency_of(mode, size.round_ns.quantile(0) * 1e-9));
    const auto rounds = static_cast<double>(size.round_ns.total());
    for (const auto& [name, q] : kQuantiles) {
        if (rounds * (1 - q) < 1) {
            break;  // of fewer rounds it would be the worst of them
        }
        json.number(name, latency_of(mode, size.round_ns.quantile(q) * 1e-9));
    }
    if (size.delays && !size.delays->there_s.empty()) {
        json.number("there_s", median(size.delays->there_s))
            .number("back_s", median(size.delays->back_s));
        if (size.delays->bound_s) {
            json.number("one_way_bound_s", *size.delays->bound_s);
        }
    }
    return json.str();
}

}  // namespace

Transport::~Transport() = default;

double latency_of(Mode mode, double round_s) {
    return mode == Mode::kBlocking || mode == Mode::kAsync ? round_s / 2 : round_s;
}

int messages_of(Mode mode) { return mode == Mode::kStream ? 1 : 2; }

std::vector<SizeFigures> sweep(Transport& transport, const SweepOptions& options) {
    std::vector<SizeFigures> sizes;
    double round_s = kFirstGuessS;
    for (const auto bytes :
         message_sizes(options.least_bytes, options.most_bytes, options.perturbation)) {
        sizes.push_back(measure(transport, options, bytes, round_s));
    }
    return sizes;
}

std::string result_line(JsonObject program, const SweepOptions& options,
                        const std::vector<SizeFigures>& sizes, double elapsed_s) {
    std::string list;
    double duration_s = 0;
    for (const auto& size : sizes) {
        list += (list.empty() ? "" : ",") + json_of(size, options.mode);
        duration_s += size.latency_s;
    }
    return program.text("mode", word_of(options.mode))
        .integer("pairs", options.pairs)
        .integer("trials", options.trials)
        .number("duration_s", duration_s)
        .number("elapsed_s", elapsed_s)
        .boolean("verified", true)
        .raw("sizes", "[" + list + "]")
        .str();
}

}  // namespace aferir::network

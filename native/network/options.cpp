#include "network/options.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "common/memory.hpp"
#include "common/program.hpp"
#include "network/wire.hpp"

namespace aferir::network {

SweepOptions sweep_options(const Arguments& arguments) {
    constexpr auto kMost = static_cast<long long>(kMostMessageBytes);
    SweepOptions options;
    options.mode = mode_of(arguments.value("--mode").value_or("blocking"));
    const auto number = [&](std::string_view name, std::uint64_t otherwise, long long least,
                            long long most) {
        return static_cast<std::uint64_t>(
            arguments.integer(name, static_cast<long long>(otherwise), least, most));
    };
    options.pairs = number("--pairs", options.pairs, 1, 512);
    options.perturbation = number("--perturbation", options.perturbation, 0, 1024);
    options.least_bytes = number("--least-bytes", options.least_bytes, 1, kMost);
    // Leaves room for the perturbation, which is added to the largest size.
    options.most_bytes = number("--most-bytes", options.most_bytes, 1, kMost - 1024);
    options.trials = number("--trials", options.trials, 1, 1000);
    options.rule.seconds = 1e-3 * static_cast<double>(number("--trial-ms", 50, 1, 60'000));
    options.rule.fixed_rounds = number("--rounds", 0, 1, 100'000'000);
    if (options.least_bytes > options.most_bytes) {
        throw UsageError("--least-bytes is above --most-bytes; swap them");
    }
    return options;
}

std::uint64_t room_bytes(const SweepOptions& options) {
    const auto sizes = message_sizes(options.least_bytes, options.most_bytes, options.perturbation);
    return *std::max_element(sizes.begin(), sizes.end());
}

int run_sweep_program(std::string_view name, const std::function<int()>& body) {
    return run_program(name, stderr, [&]() -> int {
        try {
            return body();
        } catch (const CorruptData& error) {
            print_line(stdout, JsonObject()
                                   .text("program", name)
                                   .boolean("verified", false)
                                   .text("error", error.what())
                                   .str());
            return kUnverified;
        } catch (const UsageError&) {
            throw;
        } catch (const OutOfMemory&) {
            throw;
        } catch (const std::runtime_error& error) {
            print_line(stderr, std::string(name) + ": " + error.what());
            return kNetworkFailed;
        }
    });
}

}  // namespace aferir::network

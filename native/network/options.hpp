#pragma once

#include <array>
#include <cstdio>
#include <functional>
#include <string_view>

#include "common/arguments.hpp"
#include "network/sweep.hpp"

namespace aferir::network {

/// Exit code in addition to those that all programs share: the network, or the other end, failed.
inline constexpr int kNetworkFailed = 4;

/// Options of a sweep, whatever carries the messages.
inline constexpr std::array<std::string_view, 8> kSweepNames{
    "--mode",         "--pairs",  "--least-bytes", "--most-bytes",
    "--perturbation", "--trials", "--trial-ms",    "--rounds"};
inline constexpr std::string_view kSweepHelp =
    "  --mode blocking|async|bidirectional|stream   (default: blocking)\n"
    "  --pairs N            that exchange messages at once (1)\n"
    "  --least-bytes N, --most-bytes N   sizes of messages (1 to 1048576)\n"
    "  --perturbation N     each size also with N bytes less and more (3)\n"
    "  --trials N           of each size (3)\n"
    "  --trial-ms N         length of a trial (50); --rounds N: round trips of it instead\n";

/// Reads the options of a sweep. Errors: UsageError.
SweepOptions sweep_options(const Arguments& arguments);

/// Bytes that the largest message of a sweep takes.
std::uint64_t room_bytes(const SweepOptions& options);

/// Runs a program's body. Wrong data is reported as a line without figures, any other failure as a
/// line on standard error; each has its exit code.
int run_sweep_program(std::string_view name, const std::function<int()>& body);

}  // namespace aferir::network

// A stream of known bytes over TCP or MPTCP: throughput over time, traffic of each link, the
// longest time without traffic and what TCP counted meanwhile. Static, so that a guest without a
// userland of its own can run it.

#include "common/program.hpp"

#include <array>
#include <string>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "network_stream/network_stream.hpp"

namespace aferir {
namespace {

constexpr std::string_view kProgram = "network-stream";
constexpr std::string_view kHelp =
    "usage: network-stream receive [--port N] [--connections N] [--mptcp] [--ready FILE]\n"
    "       network-stream send --to ADDRESS[,ADDRESS...] [--milliseconds N] [...]\n"
    "Sends known bytes to another network-stream, and prints one line of JSON at each end.\n"
    "  --to            IPv4 addresses; connections take them in turn\n"
    "  --port          default: 5201\n"
    "  --connections   default: 1; the receiver's are those of all its senders\n"
    "  --milliseconds  how long to send (default: 3000)\n"
    "  --interval      milliseconds between two samples of the traffic (default: 100)\n"
    "  --limit         seconds until an end gives up (default: 120)\n"
    "  --mptcp         MPTCP sockets\n"
    "  --ready         file that is made as soon as the receiver listens\n"
    "exit code: 0 every byte arrived as it was sent, 1 not so, 2 wrong command line";

std::vector<std::string> addresses(std::string_view text) {
    std::vector<std::string> all;
    for (std::size_t start = 0; start <= text.size();) {
        const auto end = std::min(text.find(',', start), text.size());
        all.emplace_back(text.substr(start, end - start));
        start = end + 1;
    }
    return all;
}

StreamOptions read_options(const Arguments& arguments) {
    StreamOptions options;
    options.to = addresses(arguments.value("--to").value_or(""));
    options.ready = std::string(arguments.value("--ready").value_or(""));
    options.port = static_cast<std::uint16_t>(arguments.integer("--port", 5201, 1, 65'535));
    options.connections = static_cast<int>(arguments.integer("--connections", 1, 1, 1024));
    const auto milliseconds = arguments.integer("--milliseconds", 3000, 1, 3'600'000);
    options.seconds = static_cast<double>(milliseconds) * 1e-3;
    options.interval_s =
        static_cast<double>(arguments.integer("--interval", 100, 1, 60'000)) * 1e-3;
    options.limit_s = static_cast<double>(arguments.integer("--limit", 120, 1, 86'400));
    options.mptcp = arguments.has("--mptcp");
    return options;
}

std::string stream(bool sends, const StreamOptions& options) {
    try {
        return sends ? send_streams(options) : receive_streams(options);
    } catch (const UsageError&) {
        throw;
    } catch (const std::runtime_error& error) {
        return JsonObject()
            .text("program", kProgram)
            .text("role", sends ? "send" : "receive")
            .boolean("verified", false)
            .text("error", error.what())
            .str();
    }
}

}  // namespace

int network_stream(std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 7> kNames{
        "--to", "--port", "--connections", "--milliseconds", "--interval", "--limit", "--ready"};
    static constexpr std::array<std::string_view, 2> kFlags{"--help", "--mptcp"};
    return run_program(kProgram, err, [&] {
        const bool sends = !given.empty() && given[0] == "send";
        const bool receives = !given.empty() && given[0] == "receive";
        const Arguments arguments(sends || receives ? given.subspan(1) : given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, kHelp);
            return kVerified;
        }
        if (!sends && !receives) {
            throw UsageError("say `send` or `receive` first; --help tells more");
        }
        if (sends && !arguments.has("--to")) {
            throw UsageError("--to is missing: the address of the receiver");
        }
        const auto line = stream(sends, read_options(arguments));
        print_line(out, line);
        return line.find("\"verified\":true") != std::string::npos ? kVerified : kUnverified;
    });
}

}  // namespace aferir

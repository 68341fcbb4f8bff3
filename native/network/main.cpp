// net-sweep: latency and throughput by size of messages, over TCP.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/program.hpp"
#include "network/client.hpp"
#include "network/options.hpp"
#include "network/server.hpp"

namespace aferir::network {
namespace {

constexpr std::string_view kProgram = "net-sweep";
constexpr std::string_view kUsage =
    "usage: net-sweep [OPTIONS]                    both ends on this host\n"
    "       net-sweep --serve [OPTIONS]            one end; until it is ended\n"
    "       net-sweep --server ADDRESS [OPTIONS]   the other, which measures\n"
    "Exchanges messages of rising size over TCP and prints one line of JSON.\n";
constexpr std::string_view kHelp =
    "  --address A, --port N   where the server listens (127.0.0.1; 5025, or any free port where\n"
    "                       both ends are here)\n"
    "  --token TEXT         both ends must have the same\n"
    "  --timeout-s N        wait no longer for the other end (30)\n"
    "  --buffer-bytes N     of the sockets (the kernel tunes them)\n"
    "  --clock none|counter|rgap   for one-way delays (what both ends have)\n"
    "  --client-cpu N, --server-cpu N   processor to run on\n"
    "  --client-netns NAME, --server-netns NAME   network namespace to be in (needs root)\n"
    "exit code: 0 measured, 1 data came out wrong, 2 wrong command line, 3 not enough memory,\n"
    "           4 the network or the other end failed";
constexpr std::array<std::string_view, 11> kOwnNames{
    "--server", "--address",    "--port",       "--token",        "--timeout-s",   "--buffer-bytes",
    "--clock",  "--client-cpu", "--server-cpu", "--client-netns", "--server-netns"};
constexpr std::array<std::string_view, 2> kFlags{"--help", "--serve"};
constexpr int kDefaultPort = 5025;

void pin(const Arguments& arguments, std::string_view name) {
    if (!arguments.has(name)) {
        return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(arguments.integer(name, 0, 0, CPU_SETSIZE - 1)), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw UsageError(std::string(name) +
                         " is not a processor that this process may run on; `nproc` and taskset "
                         "-p tell which are");
    }
}

std::string text_of(const Arguments& arguments, std::string_view name,
                    std::string_view otherwise = "") {
    return std::string(arguments.value(name).value_or(otherwise));
}

std::optional<SharedClock> clock_of(const Arguments& arguments) {
    const auto word = arguments.value("--clock");
    if (!word) {
        return std::nullopt;
    }
    if (*word == "none") {
        return SharedClock::kNone;
    }
    if (*word == "counter") {
        return SharedClock::kCounter;
    }
    if (*word == "rgap") {
        return SharedClock::kRgap;
    }
    throw UsageError("there is no clock '" + std::string(*word) +
                     "'; choose none, counter or rgap");
}

SocketOptions socket_options(const Arguments& arguments) {
    SocketOptions options;
    options.patience = std::chrono::seconds(arguments.integer("--timeout-s", 30, 1, 3600));
    options.buffer_bytes = static_cast<int>(arguments.integer("--buffer-bytes", 0, 1024, 1 << 30));
    return options;
}

std::uint16_t port_of(const Arguments& arguments, int otherwise) {
    return static_cast<std::uint16_t>(arguments.integer("--port", otherwise, 0, 65535));
}

ServerOptions server_options(const Arguments& arguments, int default_port) {
    ServerOptions options;
    options.address = {text_of(arguments, "--address", "127.0.0.1"),
                       port_of(arguments, default_port)};
    options.socket = socket_options(arguments);
    options.token = token_of(text_of(arguments, "--token"));
    options.report = [](std::string_view why) {
        print_line(stderr, std::string(kProgram) + " --serve: " + std::string(why));
    };
    return options;
}

int serve(const Arguments& arguments, int default_port,
          const std::function<void(std::uint16_t)>& listening) {
    enter_network_namespace(text_of(arguments, "--server-netns"));
    pin(arguments, "--server-cpu");
    Server server(server_options(arguments, default_port));
    listening(server.port());
    server.serve();
    return kVerified;
}

/// The server of a run whose both ends are here: a process of its own, as it would be elsewhere.
class ServerProcess {
  public:
    explicit ServerProcess(const Arguments& arguments) {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw NetworkError("no pipe to the server");
        }
        const Descriptor reading(ends[0]);
        Descriptor writing(ends[1]);
        const pid_t parent = getpid();
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            // The parent may have died before the request took effect.
            std::_Exit(getppid() == parent ? be_server(arguments, writing) : kNetworkFailed);
        }
        writing = Descriptor();
        if (read(reading.number(), &port_, sizeof port_) != sizeof port_) {
            throw NetworkError("the server's end did not start");
        }
    }
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ~ServerProcess() {
        if (process_ > 0) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    static int be_server(const Arguments& arguments, const Descriptor& writing) {
        return run_sweep_program(kProgram, [&] {
            return serve(arguments, 0, [&](std::uint16_t port) {
                if (write(writing.number(), &port, sizeof port) != sizeof port) {
                    throw NetworkError("nobody waits for the server");
                }
            });
        });
    }

    pid_t process_ = -1;
    std::uint16_t port_ = 0;
};

std::string_view word_of(SharedClock clock) {
    constexpr std::array<std::string_view, 3> kWords{"none", "counter", "rgap"};
    return kWords.at(static_cast<std::size_t>(clock));
}

int measure(const Arguments& arguments, const Address& server) {
    const auto options = sweep_options(arguments);
    const auto start = std::chrono::steady_clock::now();
    enter_network_namespace(text_of(arguments, "--client-netns"));
    pin(arguments, "--client-cpu");
    TcpTransport transport({server, socket_options(arguments),
                            token_of(text_of(arguments, "--token")), options.pairs,
                            room_bytes(options), clock_of(arguments)});
    const auto sizes = sweep(transport, options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_line(stdout, result_line(JsonObject()
                                       .text("program", kProgram)
                                       .text("transport", "tcp")
                                       .text("clock", word_of(transport.clock())),
                                   options, sizes, elapsed.count()));
    return kVerified;
}

int run(const Arguments& arguments) {
    if (arguments.has("--help")) {
        print_line(stdout, std::string(kUsage) + std::string(kSweepHelp) + std::string(kHelp));
        return kVerified;
    }
    if (arguments.has("--serve")) {
        return serve(arguments, kDefaultPort, [](std::uint16_t port) {
            print_line(stderr,
                       std::string(kProgram) + ": listening on port " + std::to_string(port));
        });
    }
    if (const auto host = arguments.value("--server")) {
        return measure(arguments, {std::string(*host), port_of(arguments, kDefaultPort)});
    }
    // An error in the command line is reported here, and not again by the server process.
    (void)sweep_options(arguments);
    (void)clock_of(arguments);
    const ServerProcess server(arguments);
    return measure(arguments, {text_of(arguments, "--address", "127.0.0.1"), server.port()});
}

}  // namespace
}  // namespace aferir::network

int main(int count, char** values) {
    namespace own = aferir::network;
    const std::vector<std::string_view> given(values + 1, values + count);
    std::vector<std::string_view> names(own::kSweepNames.begin(), own::kSweepNames.end());
    names.insert(names.end(), own::kOwnNames.begin(), own::kOwnNames.end());
    return own::run_sweep_program(
        own::kProgram, [&] { return own::run(aferir::Arguments(given, names, own::kFlags)); });
}

#include "io/scratch.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "common/memory.hpp"
#include "common/program.hpp"
#include "common/storage.hpp"
#include "io/processes.hpp"
#include "io/wait.hpp"

namespace aferir::io {
namespace {

// Process ID of the working process, for the signal handler of the waiting one; 0: none yet.
volatile std::sig_atomic_t working = 0;

void end_the_working(int /*number*/) {
    if (working != 0) {
        kill(static_cast<pid_t>(working), SIGKILL);
    }
}

// Removes the folder when the scope is left.
class Scratch {
  public:
    explicit Scratch(const std::filesystem::path& parent) : path_(make_scratch(parent)) {}
    ~Scratch() {
        // Children of a killed process die a moment later, and may still create files: removal is
        // retried.
        for (int left = 100; left > 0 && std::filesystem::exists(path_, ignored_); --left) {
            std::filesystem::remove_all(path_, ignored_);
            if (ignored_) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    Scratch(Scratch&&) = delete;
    Scratch& operator=(Scratch&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    std::error_code ignored_;
};

// Runs `body`; prints a ProcessFailed and returns its exit code. The failed process has already
// printed its own message.
int report_processes(std::string_view program, const std::function<int()>& body) {
    try {
        return body();
    } catch (const ProcessFailed& failed) {
        print_line(stderr, std::string(program) + ": " + failed.what());
        return failed.code();
    } catch (const std::filesystem::filesystem_error& error) {
        throw_storage_error("use", error.path1(), error.code().value());
    }
}

// Signals that end the working process, blocked until it is known: one that came before its process
// ID was stored would end nothing, and the supervisor would wait on.
class Endings {
  public:
    Endings() {
        sigset_t both;
        sigemptyset(&both);
        sigaddset(&both, SIGINT);
        sigaddset(&both, SIGTERM);
        sigprocmask(SIG_BLOCK, &both, &before_);
        struct sigaction action{};
        action.sa_handler = end_the_working;
        sigaction(SIGINT, &action, nullptr);
        sigaction(SIGTERM, &action, nullptr);
    }
    ~Endings() { allow(); }
    Endings(const Endings&) = delete;
    Endings& operator=(const Endings&) = delete;
    Endings(Endings&&) = delete;
    Endings& operator=(Endings&&) = delete;

    void allow() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

int supervise(std::string_view program, const std::filesystem::path& parent,
              const std::function<int(const std::filesystem::path&)>& body) {
    const Endings endings;
    const Scratch scratch(parent);
    std::fflush(nullptr);
    const pid_t supervisor = getpid();
    const pid_t child = fork();
    if (child < 0) {
        throw OutOfMemory("cannot start a process; free memory or raise the limit of processes");
    }
    if (child == 0) {
        std::signal(SIGINT, SIG_IGN);  // of a terminal, for all of its group: the supervisor acts
        std::signal(SIGTERM, SIG_DFL);
        endings.allow();
        dies_with(supervisor);
        const int code = run_program(program, stderr, [&] {
            return report_processes(program, [&] { return body(scratch.path()); });
        });
        std::fflush(nullptr);
        _exit(code);
    }
    working = child;
    endings.allow();
    const int status = wait_for(child);
    working = 0;
    const int code = exit_code_of(status);
    if (code == kEnded) {
        print_line(stderr, std::string(program) + ": " + how_it_ended(status));
    }
    return code;
}

}  // namespace

std::filesystem::path scratch_parent(const Arguments& arguments) {
    if (const auto folder = arguments.value("--folder")) {
        return *folder;
    }
    const char* const told = std::getenv("AFERIR_SCRATCH");
    return told != nullptr && *told != '\0' ? told : "/var/tmp";
}

std::filesystem::path make_scratch(const std::filesystem::path& parent) {
    std::error_code error;
    std::filesystem::create_directories(parent, error);
    if (error) {
        throw_storage_error("make", parent, error.value());
    }
    std::string name = (parent / "aferir-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw_storage_error("make a folder in", parent, errno);
    }
    return name;
}

int run_in_scratch(std::string_view program, std::string_view usage,
                   std::span<const std::string_view> given, std::span<const std::string_view> names,
                   std::span<const std::string_view> flags,
                   const std::function<int(const Arguments&, const std::filesystem::path&)>& body) {
    std::vector<std::string_view> all_names(names.begin(), names.end());
    all_names.emplace_back("--folder");
    std::vector<std::string_view> all_flags(flags.begin(), flags.end());
    all_flags.emplace_back("--help");
    return run_program(program, stderr, [&] {
        const Arguments arguments(given, all_names, all_flags);
        if (arguments.has("--help")) {
            print_line(stdout, usage);
            return static_cast<int>(kVerified);
        }
        return supervise(program, scratch_parent(arguments),
                         [&](const auto& folder) { return body(arguments, folder); });
    });
}

}  // namespace aferir::io

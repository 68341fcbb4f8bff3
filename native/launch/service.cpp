#include "launch/service.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "launch/signals.hpp"

namespace aferir::launch {
namespace {

constexpr double kGraceS = 10.0;
constexpr double kHurriedS = 1.0;  // an interruption takes no longer than 2 s
constexpr std::size_t kLooked = std::size_t{1} << 20U;
constexpr auto kPause = std::chrono::milliseconds(2);

bool answers(int port) {
    const File line(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(line.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool succeeds(const std::string& command, const std::string& folder) {
    const File nothing = open_file("/dev/null", O_RDWR);
    Output ignored{Capture(1024, false), Capture(1024, false)};
    const Started started =
        start({"sh", "-c", command}, folder, {nothing.get(), nothing.get(), nothing.get()});
    const Ended ended = follow(started, -1, -1, ignored);
    return ended.error == 0 && ended.status == 0;
}

}  // namespace

Service::Service(const Job& job, const std::string& folder, const std::string& log)
    : job_(job), folder_(folder), log_(log) {
    const File nothing = open_file("/dev/null", O_RDONLY);
    const File output = open_file(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    started_ =
        start({"sh", "-c", job.service}, folder, {nothing.get(), output.get(), output.get()});
    running_ = started_.pid > 0;
}

Service::~Service() { end(kHurriedS); }

bool Service::ended() {
    if (running_ && wait4(started_.pid, nullptr, WNOHANG, &usage_) == started_.pid) {
        running_ = false;
    }
    return !running_;
}

bool Service::is_ready() const {
    switch (job_.ready) {
        case Ready::kAtOnce:
            return true;
        case Ready::kPort:
            return answers(std::stoi(job_.ready_when));
        case Ready::kLine:
            return end_of_file(log_, kLooked).find(job_.ready_when) != std::string::npos;
        case Ready::kCommand:
            return succeeds(job_.ready_when, folder_);
    }
    return false;
}

std::string_view Service::await() {
    const double deadline = now_s() + job_.ready_limit_s;
    while (!is_ready()) {
        take_signals();
        if (ended() && job_.ready != Ready::kCommand) {
            return "the service ended before it was ready";
        }
        if (now_s() > deadline) {
            return "the service was not ready in time";
        }
        std::this_thread::sleep_for(kPause);
    }
    return {};
}

rusage Service::stop() {
    end(kGraceS);
    return usage_;
}

void Service::end(double grace_s) {
    if (running_) {
        kill(-started_.pid, SIGTERM);
        for (const double deadline = now_s() + grace_s; !ended() && now_s() < deadline;) {
            std::this_thread::sleep_for(kPause);
        }
        if (running_) {
            kill(-started_.pid, SIGKILL);
            wait4(started_.pid, nullptr, 0, &usage_);
            running_ = false;
        }
    }
}

}  // namespace aferir::launch

#include "inside/attend.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inside/command.hpp"
#include "inside/files.hpp"
#include "inside/frames.hpp"
#include "inside/processes.hpp"

namespace aferir::inside {

namespace {

constexpr std::size_t kPiece = 1U << 16U;

struct Running {
    Started child;
    std::string mark;
};

class Attendant {
  public:
    Attendant(int in, int out, std::vector<std::string> variables)
        : in_(in), out_(out), variables_(std::move(variables)) {
        sigset_t wanted;
        sigemptyset(&wanted);
        sigaddset(&wanted, SIGCHLD);
        sigprocmask(SIG_BLOCK, &wanted, nullptr);
        signal(SIGPIPE, SIG_IGN);
        // Orphans become its children even if it is not process 1.
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        children_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    }

    int work() {
        answer(Kind::kHello, 0);
        while (open_) {
            wait();
        }
        for (const auto& [task, running] : running_) {
            kill_task(running.child.pid, running.mark);
        }
        return 0;
    }

  private:
    void answer(Kind kind, std::uint32_t task, std::string payload = {}) {
        open_ = write_all(out_, encoded({kind, task, std::move(payload)})) && open_;
    }

    void fail(std::uint32_t task, int error, const std::string& why) {
        std::string payload;
        put_u32(payload, static_cast<std::uint32_t>(error));
        answer(Kind::kFailed, task, payload + why);
    }

    void wait() {
        std::vector<pollfd> handles{{in_, POLLIN, 0}, {children_, POLLIN, 0}};
        for (const auto& [task, running] : running_) {
            for (const int handle : {running.child.out, running.child.err}) {
                handles.push_back({handle, POLLIN, 0});  // poll(2) ignores a negative one
            }
        }
        if (poll(handles.data(), handles.size(), -1) < 0) {
            return;
        }
        for (auto& [task, running] : running_) {
            pass_on(task, running);
        }
        if (handles[1].revents != 0) {
            reap();
        }
        if (handles[0].revents != 0) {
            listen();
        }
    }

    void listen() {
        std::array<char, kPiece> piece{};
        const ssize_t size = read(in_, piece.data(), piece.size());
        if (size <= 0) {
            open_ = size < 0 && (errno == EINTR || errno == EAGAIN);
            return;
        }
        reader_.add({piece.data(), static_cast<std::size_t>(size)});
        while (const auto message = reader_.next()) {
            obey(*message);
        }
    }

    void obey(const Message& message) {
        switch (message.kind) {
            case Kind::kRun:
                run(message);
                break;
            case Kind::kKill:
                if (const auto found = running_.find(message.task); found != running_.end()) {
                    end_task(found->second.child.pid, found->second.mark);
                }
                break;
            case Kind::kPut: {
                std::string_view rest = message.payload;
                const std::uint32_t mode = take_u32(rest);
                arriving_[message.task] = std::make_unique<Arriving>(std::string(rest), mode);
                break;
            }
            case Kind::kData:
                if (const auto found = arriving_.find(message.task); found != arriving_.end()) {
                    found->second->add(message.payload);
                }
                break;
            case Kind::kEnd:
                arrived(message.task);
                break;
            case Kind::kGet:
                send(message);
                break;
            default:
                fail(message.task, EINVAL, "a message of an unknown kind");
        }
    }

    void run(const Message& message) {
        Wanted wanted = parsed(message.payload);
        wanted.add(variables_);
        const Started child = start(wanted);
        if (child.error != 0) {
            fail(message.task, child.error, child.why);
            return;
        }
        running_[message.task] = {child, wanted.mark()};
    }

    void arrived(std::uint32_t task) {
        const auto found = arriving_.find(task);
        if (found == arriving_.end()) {
            return;
        }
        const int error = found->second->finish();
        arriving_.erase(found);
        if (error != 0) {
            fail(task, error, std::strerror(error));
        } else {
            answer(Kind::kDone, task);
        }
    }

    void send(const Message& message) {
        const int error = send_file(message.payload, [&](std::string_view piece) {
            answer(Kind::kData, message.task, std::string(piece));
            return open_;
        });
        if (error != 0) {
            fail(message.task, error, error == EINVAL ? "no ordinary file" : std::strerror(error));
        } else {
            answer(Kind::kDone, message.task);
        }
    }

    // Sends what a command has written so far.
    void pass_on(std::uint32_t task, Running& running) {
        pass_on(task, Kind::kOut, running.child.out);
        pass_on(task, Kind::kErr, running.child.err);
    }

    void pass_on(std::uint32_t task, Kind kind, int& handle) {
        std::array<char, kPiece> piece{};
        while (handle >= 0) {
            const ssize_t size = read(handle, piece.data(), piece.size());
            if (size > 0) {
                answer(kind, task, std::string(piece.data(), static_cast<std::size_t>(size)));
            } else if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
                close(handle);
                handle = -1;
            } else if (errno == EAGAIN) {
                return;
            }
        }
    }

    // Reaps all children that have ended: tasks, and adopted orphans.
    void reap() {
        signalfd_siginfo ignored{};
        while (read(children_, &ignored, sizeof ignored) > 0) {
        }
        int status = 0;
        for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0;
             pid = waitpid(-1, &status, WNOHANG)) {
            const std::uint64_t now = now_ns();
            for (auto& [task, running] : running_) {
                if (running.child.pid == pid) {
                    ended(task, running, status, now - running.child.at_ns);
                    running_.erase(task);
                    break;
                }
            }
        }
    }

    // Processes left in the background may hold the command's pipes for ever, and are not waited
    // for.
    void ended(std::uint32_t task, Running& running, int status, std::uint64_t duration_ns) {
        pass_on(task, running);
        for (const int handle : {running.child.out, running.child.err}) {
            if (handle >= 0) {
                close(handle);
            }
        }
        std::string payload;
        put_u32(payload, static_cast<std::uint32_t>(status));
        put_u64(payload, duration_ns);
        answer(Kind::kExited, task, payload);
    }

    int in_;
    int out_;
    int children_ = -1;
    std::vector<std::string> variables_;
    bool open_ = true;
    Reader reader_;
    std::map<std::uint32_t, Running> running_;
    std::map<std::uint32_t, std::unique_ptr<Arriving>> arriving_;
};

}  // namespace

int attend(int in, int out, std::vector<std::string> variables) {
    return Attendant(in, out, std::move(variables)).work();
}

}  // namespace aferir::inside

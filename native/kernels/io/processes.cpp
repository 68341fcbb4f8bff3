#include "io/processes.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/program.hpp"
#include "io/wait.hpp"

namespace aferir::io {
namespace {

// The forked processes that still run; the destructor ends them.
class Children {
  public:
    Children() = default;
    ~Children() {
        for (const pid_t child : running_) {
            kill(child, SIGKILL);
        }
        for (const pid_t child : running_) {
            wait_for(child);
        }
    }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
    Children(Children&&) = delete;
    Children& operator=(Children&&) = delete;

    void add(pid_t child) { running_.push_back(child); }
    [[nodiscard]] bool any() const { return !running_.empty(); }

    // Waits for the next process to end; returns its exit status.
    int wait_for_any() {
        int status = 0;
        pid_t ended = -1;
        do {
            ended = waitpid(-1, &status, 0);
        } while (ended < 0 && errno == EINTR);
        std::erase(running_, ended);
        return status;
    }

  private:
    std::vector<pid_t> running_;
};

}  // namespace

ProcessFailed::~ProcessFailed() = default;

SharedMapping::SharedMapping(std::size_t bytes)
    : bytes_(std::max<std::size_t>(bytes, 1)),
      data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) {
        throw OutOfMemory("cannot map " + std::to_string(bytes) +
                          " bytes of shared memory; choose a smaller problem");
    }
}

SharedMapping::~SharedMapping() { munmap(data_, bytes_); }

Barrier::Barrier(int processes) : mapping_(sizeof(pthread_barrier_t)) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(static_cast<pthread_barrier_t*>(mapping_.data()), &attributes,
                         static_cast<unsigned>(processes));
    pthread_barrierattr_destroy(&attributes);
}

void Barrier::wait() const {
    pthread_barrier_wait(static_cast<pthread_barrier_t*>(mapping_.data()));
}

void in_processes(std::string_view program, int count, std::FILE* err,
                  const std::function<void(int)>& body) {
    Children children;
    std::fflush(nullptr);  // or every process would print what is still in the buffers
    for (int rank = 0; rank < count; ++rank) {
        const pid_t parent = getpid();
        const pid_t child = fork();
        if (child < 0) {
            throw OutOfMemory("cannot start process " + std::to_string(rank + 1) + " of " +
                              std::to_string(count) + ": " + std::strerror(errno));
        }
        if (child == 0) {
            dies_with(parent);
            _exit(run_program(program, err, [&] {
                body(rank);
                return static_cast<int>(kVerified);
            }));
        }
        children.add(child);
    }
    while (children.any()) {
        const int status = children.wait_for_any();
        if (status != 0) {
            throw ProcessFailed(how_it_ended(status), exit_code_of(status));
        }
    }
}

double now_s() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace aferir::io

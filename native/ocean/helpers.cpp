#include "ocean/helpers.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace aferir::ocean {
namespace {

[[noreturn]] void fail(const std::string& what, int number) {
    throw std::runtime_error(what + ": " + std::strerror(number));
}

/// Our environment without the libraries that were preloaded into us, as a helper is no MPI
/// program.
std::vector<char*> plain_environment() {
    std::vector<char*> variables;
    for (char* const* variable = environ; *variable != nullptr; ++variable) {
        if (!std::string_view(*variable).starts_with("LD_PRELOAD=")) {
            variables.push_back(*variable);
        }
    }
    variables.push_back(nullptr);
    return variables;
}

std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        fail("no pipe", errno);
    }
    return ends;
}

}  // namespace

Helper::Helper(const std::string& program, const std::vector<std::string>& arguments,
               int inherited) {
    const auto input = make_pipe();
    const auto output = make_pipe();
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (auto& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    if (inherited >= 0) {  // onto itself: then it is not closed (posix_spawn(3p))
        posix_spawn_file_actions_adddup2(&actions, inherited, inherited);
    }
    const int status = posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers.data(),
                                   plain_environment().data());
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    input_ = Descriptor(input[1]);
    output_ = Descriptor(output[0]);
    if (status != 0) {
        fail(program + " cannot be started", status);
    }
}

Helper::~Helper() { stop(); }

int Helper::first_number() const {
    std::string line;
    char character = 0;
    while (read(output_.number(), &character, 1) == 1 && character != '\n') {
        line += character;
    }
    return std::atoi(line.c_str());
}

double Helper::stop() {
    if (pid_ < 0) {
        return 0;
    }
    input_.close();
    rusage usage{};
    int status = 0;
    wait4(std::exchange(pid_, -1), &status, 0, &usage);
    output_.close();
    failed_ = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

SharedClock::SharedClock(double raw, double offset_s, double oscillator)
    : file_(memfd_create("aferir-ocean-clock", MFD_CLOEXEC)) {
    if (!file_.open() || ftruncate(file_.number(), sizeof(ClockPage)) != 0) {
        fail("no shared memory", errno);
    }
    map();
    page_ = new (page_) ClockPage{};
    page_->oscillator = oscillator;
    page_->base_raw = raw;
    page_->base_time = raw + offset_s;
}

SharedClock::SharedClock(pid_t owner, int descriptor)
    : file_(open(("/proc/" + std::to_string(owner) + "/fd/" + std::to_string(descriptor)).c_str(),
                 O_RDWR | O_CLOEXEC)) {
    if (!file_.open()) {
        fail("the clock of this node's first rank cannot be shared", errno);
    }
    map();
}

void SharedClock::map() {
    void* const memory =
        mmap(nullptr, sizeof(ClockPage), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
    if (memory == MAP_FAILED) {
        fail("shared memory cannot be mapped", errno);
    }
    page_ = static_cast<ClockPage*>(memory);
}

SharedClock::~SharedClock() { munmap(page_, sizeof(ClockPage)); }

}  // namespace aferir::ocean

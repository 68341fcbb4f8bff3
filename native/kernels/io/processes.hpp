#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

namespace aferir::io {

/// A process of the program failed; its own message is on standard error.
class ProcessFailed : public std::runtime_error {
  public:
    ProcessFailed(const std::string& what, int code) : std::runtime_error(what), code_(code) {}
    ~ProcessFailed() override;

    /// Exit code for the whole program.
    [[nodiscard]] int code() const { return code_; }

  private:
    int code_;
};

/// Anonymous memory that a process shares with those that it forks. Errors: OutOfMemory.
class SharedMapping {
  public:
    explicit SharedMapping(std::size_t bytes);
    ~SharedMapping();
    SharedMapping(const SharedMapping&) = delete;
    SharedMapping& operator=(const SharedMapping&) = delete;
    SharedMapping(SharedMapping&&) = delete;
    SharedMapping& operator=(SharedMapping&&) = delete;

    [[nodiscard]] void* data() const { return data_; }

  private:
    std::size_t bytes_;
    void* data_;
};

/// Values that all processes see; each begins as `T()`.
template <typename T>
class SharedArray {
  public:
    explicit SharedArray(std::size_t size) : mapping_(size * sizeof(T)), size_(size) {
        for (std::size_t i = 0; i < size; ++i) {
            new (static_cast<T*>(mapping_.data()) + i) T();
        }
    }

    [[nodiscard]] std::span<T> span() const { return {static_cast<T*>(mapping_.data()), size_}; }
    T& operator[](std::size_t index) const { return span()[index]; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    SharedMapping mapping_;
    std::size_t size_;
};

/// A barrier for all processes.
class Barrier {
  public:
    explicit Barrier(int processes);
    void wait() const;

  private:
    SharedMapping mapping_;
};

/// Runs `body(rank)` in `count` processes and waits for all of them.
///
/// If one fails, the others are killed. Errors: ProcessFailed with its exit code, or with kEnded if
/// a signal ended it; OutOfMemory if a process cannot be created.
void in_processes(std::string_view program, int count, std::FILE* err,
                  const std::function<void(int)>& body);

/// CLOCK_MONOTONIC in seconds: one clock for all processes.
double now_s();

}  // namespace aferir::io

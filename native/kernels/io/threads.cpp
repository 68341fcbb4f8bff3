#include "io/threads.hpp"

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "common/memory.hpp"

namespace aferir::io {

void in_threads(int count, const std::function<void(int)>& body) {
    std::exception_ptr first;
    std::mutex guard;
    {
        std::vector<std::jthread> threads;
        try {
            for (int thread = 0; thread < count; ++thread) {
                threads.emplace_back([&, thread] {
                    try {
                        body(thread);
                    } catch (...) {
                        const std::scoped_lock held(guard);
                        first = first ? first : std::current_exception();
                    }
                });
            }
        } catch (const std::system_error&) {
            const std::scoped_lock held(guard);
            first = std::make_exception_ptr(OutOfMemory(
                "cannot start a thread; choose fewer, or raise the limits of memory and tasks"));
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

}  // namespace aferir::io

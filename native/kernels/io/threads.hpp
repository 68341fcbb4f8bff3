#pragma once

#include <functional>

namespace aferir::io {

/// Runs `body(thread)` in that many threads and waits for all of them; the first error that one
/// of them throws is thrown again. Errors: OutOfMemory where a thread cannot be started.
void in_threads(int count, const std::function<void(int)>& body);

}  // namespace aferir::io

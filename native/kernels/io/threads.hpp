#pragma once

#include <functional>

namespace aferir::io {

/// Runs `body(thread)` in that many threads and waits for all of them; rethrows the first error of
/// one of them. Errors: OutOfMemory if a thread cannot be started.
void in_threads(int count, const std::function<void(int)>& body);

}  // namespace aferir::io

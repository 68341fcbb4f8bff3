#pragma once

#include <cstddef>
#include <filesystem>

namespace aferir {

/// Bytes of all last-level caches of the machine together, 0 if the kernel does not report them.
/// `root` is "/" except in tests.
std::size_t last_level_cache_bytes(const std::filesystem::path& root);

}  // namespace aferir

#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>

namespace aferir {

/// MemAvailable of a /proc/meminfo text; unlimited if it has none.
std::size_t mem_available_bytes(std::istream& meminfo);

/// Bytes that the memory limits of this process's control group and its ancestors leave; unlimited
/// if there are none. `root` is "/" except in tests.
std::size_t cgroup_headroom_bytes(const std::filesystem::path& root);

}  // namespace aferir

#include "memory_bandwidth/cache.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

namespace aferir {
namespace {

std::string first_line(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// The kernel writes "32768K"; its documentation also allows "M".
std::size_t parse_size(const std::string& text) {
    char* unit = nullptr;
    const auto number = std::strtoull(text.c_str(), &unit, 10);
    switch (*unit) {
        case 'K':
            return number << 10U;
        case 'M':
            return number << 20U;
        default:
            return number;
    }
}

}  // namespace

std::size_t last_level_cache_bytes(const std::filesystem::path& root) {
    const auto cpus = root / "sys/devices/system/cpu";
    int last_level = 0;
    std::map<std::string, std::size_t> sizes;  // by the processors that share the cache
    std::error_code ignored;
    for (const auto& cpu : std::filesystem::directory_iterator(cpus, ignored)) {
        for (const auto& cache :
             std::filesystem::directory_iterator(cpu.path() / "cache", ignored)) {
            const int level = std::atoi(first_line(cache.path() / "level").c_str());
            if (level == 0 || level < last_level ||
                first_line(cache.path() / "type") == "Instruction") {
                continue;
            }
            if (level > last_level) {
                last_level = level;
                sizes.clear();
            }
            sizes[first_line(cache.path() / "shared_cpu_map")] =
                parse_size(first_line(cache.path() / "size"));
        }
    }
    std::size_t total = 0;
    for (const auto& [sharers, size] : sizes) {
        total += size;
    }
    return total;
}

}  // namespace aferir

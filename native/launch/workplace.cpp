#include "launch/workplace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace aferir::launch {

File::~File() { close(); }

void File::close() {
    if (handle_ >= 0) {
        ::close(handle_);
        handle_ = -1;
    }
}

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "no pipe can be made");
    }
    return {File(ends[0]), File(ends[1])};
}

File open_file(const std::string& path, int flags) {
    const int handle = open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (handle < 0) {
        throw std::system_error(errno, std::generic_category(), path);
    }
    return File(handle);
}

File file_with(const std::string& folder, std::string_view text) {
    std::string name = folder + "/input-XXXXXX";
    File file(mkostemp(name.data(), O_CLOEXEC));
    if (file.get() < 0) {
        throw std::system_error(errno, std::generic_category(), name);
    }
    unlink(name.c_str());
    while (!text.empty()) {
        const ssize_t written = write(file.get(), text.data(), text.size());
        if (written < 0) {
            throw std::system_error(errno, std::generic_category(), "standard input");
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    lseek(file.get(), 0, SEEK_SET);
    return file;
}

void evict(const std::string& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file() || entry.is_symlink()) {
            continue;
        }
        const File file = open_file(entry.path().string(), O_RDONLY | O_NOFOLLOW);
        fdatasync(file.get());
        posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
}

Workplace::Workplace() {
    const char* const told = std::getenv("AFERIR_SCRATCH");
    const std::array<const char*, 5> folders{told, "/var/tmp", "/tmp", "/dev/shm", "/run"};
    int error = ENOENT;
    for (const char* const folder : folders) {
        if (folder == nullptr) {
            continue;
        }
        std::string name = std::string(folder) + "/aferir-XXXXXX";
        if (mkdtemp(name.data()) != nullptr) {
            path_ = name;
            return;
        }
        error = errno;
    }
    throw std::system_error(error, std::generic_category(), "no folder can be made for its files");
}

Workplace::~Workplace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace aferir::launch

#include "inside/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>

#include "inside/frames.hpp"

namespace aferir::inside {

namespace {

constexpr std::size_t kFilePiece = 1U << 16U;

}  // namespace

Arriving::Arriving(const std::string& path, unsigned mode) : mode_(mode) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    unlink(path.c_str());  // a running program cannot be overwritten
    handle_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    error_ = handle_ < 0 ? errno : 0;
}

Arriving::~Arriving() {
    if (handle_ >= 0) {
        close(handle_);
    }
}

void Arriving::add(std::string_view bytes) {
    if (error_ == 0 && !write_all(handle_, bytes)) {
        error_ = errno;
    }
}

int Arriving::finish() {
    if (error_ == 0 && fchmod(handle_, mode_) != 0) {
        error_ = errno;
    }
    if (handle_ >= 0 && close(handle_) != 0 && error_ == 0) {
        error_ = errno;
    }
    handle_ = -1;
    return error_;
}

int send_file(const std::string& path, const std::function<bool(std::string_view)>& send) {
    // Non-blocking, as opening a FIFO without a writer would otherwise block.
    const int handle = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (handle < 0) {
        return errno;
    }
    struct stat about{};
    int error = fstat(handle, &about) != 0 ? errno : 0;
    if (error == 0 && !S_ISREG(about.st_mode)) {
        error = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
    }
    std::vector<char> piece(kFilePiece);
    while (error == 0) {
        const ssize_t size = read(handle, piece.data(), piece.size());
        if (size == 0) {
            break;
        }
        if (size < 0) {
            error = errno;
        } else if (!send({piece.data(), static_cast<std::size_t>(size)})) {
            error = EPIPE;
        }
    }
    close(handle);
    return error;
}

}  // namespace aferir::inside

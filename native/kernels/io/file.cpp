#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/storage.hpp"

namespace aferir::io {
namespace {

constexpr std::uint64_t kOperation = 512;
constexpr mode_t kOwnerOnly = 0600;

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
    read_bytes += other.read_bytes;
    written_bytes += other.written_bytes;
    reads += other.reads;
    writes += other.writes;
    syncs += other.syncs;
    return *this;
}

std::uint64_t Counts::operations() const {
    return (read_bytes + written_bytes + kOperation - 1) / kOperation;
}

Counts counts_of(const Volume& volume) {
    return {volume.read_bytes, volume.written_bytes, volume.reads, volume.writes, volume.syncs};
}

File::File(std::filesystem::path path, int flags, Volume& volume)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), flags | O_CLOEXEC, kOwnerOnly)),
      volume_(volume) {
    if (descriptor_.open()) {
        return;
    }
    if (errno == EINVAL && (flags & O_DIRECT) != 0) {
        throw StorageError("the file system of " + path_.string() +
                           " has no direct I/O; choose another --folder, or leave out --direct");
    }
    throw_storage_error("open", path_, errno);
}

void File::write_at(std::span<const std::byte> data, std::uint64_t offset) {
    while (!data.empty()) {
        const auto written =
            pwrite(descriptor(), data.data(), data.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            throw_storage_error("write", path_, written < 0 ? errno : ENOSPC);
        }
        volume_.writes += 1;
        volume_.written_bytes += static_cast<std::uint64_t>(written);
        offset += static_cast<std::uint64_t>(written);
        data = data.subspan(static_cast<std::size_t>(written));
    }
}

std::size_t File::read_at(std::span<std::byte> data, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < data.size()) {
        const auto got = pread(descriptor(), data.data() + done, data.size() - done,
                               static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw_storage_error("read", path_, errno);
        }
        if (got == 0) {
            break;
        }
        volume_.reads += 1;
        volume_.read_bytes += static_cast<std::uint64_t>(got);
        done += static_cast<std::size_t>(got);
    }
    return done;
}

void File::append(std::span<const std::byte> data) {
    write_at(data, end_);
    end_ += data.size();
}

void File::sync() {
    if (fsync(descriptor()) != 0) {
        throw_storage_error("write", path_, errno);
    }
    volume_.syncs += 1;
}

void File::forget_cache() {
    if (fdatasync(descriptor()) != 0) {
        throw_storage_error("write", path_, errno);
    }
    posix_fadvise(descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

std::uint64_t File::size() const {
    struct stat status{};
    if (fstat(descriptor(), &status) != 0) {
        throw_storage_error("look at", path_, errno);
    }
    return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace aferir::io

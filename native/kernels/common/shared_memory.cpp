#include "common/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace aferir {
namespace {

// MADV_POPULATE_WRITE (since Linux 5.14) and MADV_COLLAPSE (since 6.1): older headers lack them,
// older kernels refuse them.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;

std::uint64_t inode_of(int descriptor) {
    struct stat found{};
    return fstat(descriptor, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

SharedFile::SharedFile(std::size_t bytes) : file_(memfd_create("aferir", MFD_CLOEXEC)) {
    if (!file_.open() || ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) {
        throw OutOfMemory("cannot make " + std::to_string(bytes) + " bytes of shared memory");
    }
}

std::optional<SharedFile> SharedFile::open(const Address& address) {
    const auto path =
        "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
    SharedFile file;
    file.file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file.file_.open() || inode_of(file.file_.number()) != address.inode) {
        return std::nullopt;
    }
    return file;
}

SharedFile::Address SharedFile::address() const {
    return {getpid(), file_.number(), inode_of(file_.number())};
}

bool SharedFile::take_pages(const HugeMapping& mapping, std::size_t begin, std::size_t end) {
    auto* const start = static_cast<std::byte*>(mapping.data()) + begin;
    const bool taken = madvise(start, end - begin, kPopulateWrite) == 0 || errno == EINVAL;
    // Requests huge pages whatever the settings for shared memory are. Done once the pages exist,
    // since the kernel refuses it for missing ones. A refusal costs only speed.
    (void)madvise(start, end - begin, kCollapse);
    return taken;
}

}  // namespace aferir

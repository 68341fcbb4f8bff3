#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/descriptor.hpp"
#include "common/memory.hpp"

namespace aferir {

/// Memory that several processes of one machine map: an unnamed file, which the kernel frees with
/// its last user. Others open it through the process that made it.
class SharedFile {
  public:
    /// Address by which another process opens it.
    struct Address {
        std::int64_t process = 0;
        std::int64_t descriptor = -1;
        /// identifies the file, as a process ID may be another's elsewhere
        std::uint64_t inode = 0;
    };

    /// Makes zeroed memory. Errors: OutOfMemory.
    explicit SharedFile(std::size_t bytes);

    /// Opens the memory of another process; nothing without permission, or if the process ID is
    /// another process's, as in another container.
    static std::optional<SharedFile> open(const Address& address);

    [[nodiscard]] Address address() const;

    /// Allocates the pages of [begin, end) of a mapping of such a file, huge ones if the kernel
    /// grants them: a later touch of memory that the machine lacks would end the program with
    /// SIGBUS. False if it lacks them.
    static bool take_pages(const HugeMapping& mapping, std::size_t begin, std::size_t end);

    [[nodiscard]] HugeMapping map(std::size_t bytes) const { return {file_.number(), bytes}; }

  private:
    SharedFile() = default;

    Descriptor file_;
};

}  // namespace aferir

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/descriptor.hpp"
#include "common/memory.hpp"

namespace aferir {

/// Memory that several processes of one machine map: a file without a name, which the kernel frees
/// with its last user. The others find it by the process that made it.
class SharedFile {
  public:
    /// Where another process finds it.
    struct Address {
        std::int64_t process = 0;
        std::int64_t descriptor = -1;
        std::uint64_t inode = 0;  ///< elsewhere another process may have that number
    };

    /// Zeroed. Errors: OutOfMemory.
    explicit SharedFile(std::size_t bytes);

    /// Nothing where that process may not be looked into, or has another number, for example from
    /// another container.
    static std::optional<SharedFile> open(const Address& address);

    [[nodiscard]] Address address() const;

    /// Takes the pages of [begin, end) of a mapping of such a file, huge ones where the kernel
    /// grants them: a later touch of what the machine cannot give would end the program with
    /// SIGBUS. False if it cannot give them.
    static bool take_pages(const HugeMapping& mapping, std::size_t begin, std::size_t end);

    [[nodiscard]] HugeMapping map(std::size_t bytes) const { return {file_.number(), bytes}; }

  private:
    SharedFile() = default;

    Descriptor file_;
};

}  // namespace aferir

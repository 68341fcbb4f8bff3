#pragma once

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace aferir {

/// A file or folder could not be made, written or read; the message has the reason.
class StorageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~StorageError() override;
};

/// Throws StorageError: what `error` (errno(3)) means for an attempt to `doing` ("write") `path`.
[[noreturn]] void throw_storage_error(std::string_view doing, const std::filesystem::path& path,
                                      int error);

}  // namespace aferir

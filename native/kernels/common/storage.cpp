#include "common/storage.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace aferir {

StorageError::~StorageError() = default;

void throw_storage_error(std::string_view doing, const std::filesystem::path& path, int error) {
    const std::string what = "cannot " + std::string(doing) + " " + path.string();
    if (error == ENOSPC || error == EDQUOT) {
        throw StorageError("no space left on the device: " + what +
                           "; choose another --folder, or less data");
    }
    throw StorageError(what + ": " + std::generic_category().message(error));
}

}  // namespace aferir

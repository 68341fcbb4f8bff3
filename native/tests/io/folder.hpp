#pragma once

#include <filesystem>

#include "io/scratch.hpp"

namespace aferir::io {

/// A folder that is gone after the test.
class Folder {
  public:
    Folder() : path_(make_scratch(std::filesystem::temp_directory_path())) {}
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    Folder(Folder&&) = delete;
    Folder& operator=(Folder&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace aferir::io

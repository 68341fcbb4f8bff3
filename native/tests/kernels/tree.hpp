#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace aferir {

/// A directory that stands for "/", removed with the object.
class Tree {
  public:
    Tree() {
        auto pattern = (std::filesystem::temp_directory_path() / "aferir-test-XXXXXX").string();
        root_ = mkdtemp(pattern.data());
    }
    ~Tree() { std::filesystem::remove_all(root_); }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    Tree(Tree&&) = delete;
    Tree& operator=(Tree&&) = delete;

    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << '\n';
    }

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  private:
    std::filesystem::path root_;
};

}  // namespace aferir

#pragma once

#include <string>
#include <string_view>

namespace aferir::launch {

/// A file handle that its destructor closes.
class File {
  public:
    explicit File(int handle = -1) : handle_(handle) {}
    ~File();
    File(File&& other) noexcept : handle_(other.handle_) { other.handle_ = -1; }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    File& operator=(File&&) = delete;

    [[nodiscard]] int get() const { return handle_; }
    void close();

  private:
    int handle_;
};

/// Both ends of a pipe, closed on exec.
struct Pipe {
    File reading;
    File writing;
};
Pipe make_pipe();

/// Opens a file, or throws std::system_error that names it.
File open_file(const std::string& path, int flags);

/// Makes an unnamed file that contains the text, to be read from its start.
File file_with(const std::string& folder, std::string_view text);

/// Evicts every file below a folder from the page cache, so that it is read from the disk again;
/// dirty pages are written first (posix_fadvise(2)).
void evict(const std::string& folder);

/// A new folder for files, removed with its contents by the destructor.
class Workplace {
  public:
    /// Makes it in the folder that AFERIR_SCRATCH names, or in the first usual one that is
    /// writable. Errors: std::system_error if there is none.
    Workplace();
    ~Workplace();
    Workplace(const Workplace&) = delete;
    Workplace& operator=(const Workplace&) = delete;
    Workplace(Workplace&&) = delete;
    Workplace& operator=(Workplace&&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace aferir::launch

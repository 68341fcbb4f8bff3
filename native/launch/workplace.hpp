#pragma once

#include <string>
#include <string_view>

namespace aferir::launch {

/// A file handle that is closed in the end.
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

/// A file without a name that holds the text, to be read from its start.
File file_with(const std::string& folder, std::string_view text);

/// Has the kernel forget the content of every file below a folder, so that it is read from the disk
/// again; what is still to be written is written first (posix_fadvise(2)).
void evict(const std::string& folder);

/// A new folder where files may be made, and what is in it goes when the scope is left.
class Workplace {
  public:
    /// In the folder that AFERIR_SCRATCH names, or the first usual one that can be written to.
    /// Errors: std::system_error where there is none.
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

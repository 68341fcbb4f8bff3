#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace aferir::inside {

// A file that is being copied into the instance.
class Arriving {
  public:
    // Creates missing folders above the file, and the file. failed() tells whether that failed.
    Arriving(const std::string& path, unsigned mode);
    ~Arriving();
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;
    Arriving(Arriving&&) = delete;
    Arriving& operator=(Arriving&&) = delete;

    void add(std::string_view bytes);
    // Sets the file's mode and closes it. Returns the errno of the first failed step since
    // creation, or 0.
    int finish();
    [[nodiscard]] int failed() const { return error_; }

  private:
    int handle_ = -1;
    unsigned mode_;
    int error_ = 0;
};

// Passes the content of a regular file on in pieces. Returns its errno, or 0.
int send_file(const std::string& path, const std::function<bool(std::string_view)>& send);

}  // namespace aferir::inside

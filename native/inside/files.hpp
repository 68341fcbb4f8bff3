#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace aferir::inside {

// A file on its way into the instance.
class Arriving {
  public:
    // Makes the folders above it, and the file anew. `failed()` tells whether it could.
    Arriving(const std::string& path, unsigned mode);
    ~Arriving();
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;
    Arriving(Arriving&&) = delete;
    Arriving& operator=(Arriving&&) = delete;

    void add(std::string_view bytes);
    // Gives it its mode. The errno of the first step that failed, 0 for none.
    int finish();
    [[nodiscard]] int failed() const { return error_; }

  private:
    int handle_ = -1;
    unsigned mode_;
    int error_ = 0;
};

// Hands the content of an ordinary file over in pieces; its errno, 0 where all went well.
int send_file(const std::string& path, const std::function<bool(std::string_view)>& send);

}  // namespace aferir::inside

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" {
#include "clock/rgap/sha256.h"
}

namespace aferir::launch {

/// The end of a stream of any length, how long it was, and its SHA-256 where that is asked for.
class Capture {
  public:
    Capture(std::size_t keep_bytes, bool hash);

    void add(std::string_view data);
    [[nodiscard]] std::string_view end() const;
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// 64 hexadecimal digits; empty where it was not asked for. To be called once.
    [[nodiscard]] std::string digest();

  private:
    std::size_t keep_;
    bool hash_;
    std::uint64_t bytes_ = 0;
    std::string kept_;
    sha256 state_{};
};

/// RFC 4648, with padding: what JSON can carry whatever a program printed.
std::string base64(std::string_view data);

/// The end of a file. Errors: std::system_error where it cannot be read.
std::string end_of_file(const std::string& path, std::size_t keep_bytes);

}  // namespace aferir::launch

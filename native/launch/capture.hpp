#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" {
#include "clock/rgap/sha256.h"
}

namespace aferir::launch {

/// Keeps the end of a stream of any length, with its length and, on request, its SHA-256.
class Capture {
  public:
    Capture(std::size_t keep_bytes, bool hash);

    void add(std::string_view data);
    [[nodiscard]] std::string_view end() const;
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// 64 hexadecimal digits; empty if not requested. May be called once.
    [[nodiscard]] std::string digest();

  private:
    std::size_t keep_;
    bool hash_;
    std::uint64_t bytes_ = 0;
    std::string kept_;
    sha256 state_{};
};

/// Encodes data in Base64 (RFC 4648, with padding), which JSON can contain whatever a program
/// printed.
std::string base64(std::string_view data);

/// The last `keep_bytes` bytes of a file. Errors: std::system_error if it cannot be read.
std::string end_of_file(const std::string& path, std::size_t keep_bytes);

}  // namespace aferir::launch

#include "launch/capture.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace aferir::launch {

Capture::Capture(std::size_t keep_bytes, bool hash) : keep_(keep_bytes), hash_(hash) {
    rgap_sha256_start(&state_);
}

void Capture::add(std::string_view data) {
    bytes_ += data.size();
    if (hash_) {
        rgap_sha256_add(&state_, data.data(), data.size());
    }
    if (data.size() >= keep_) {
        kept_ = data.substr(data.size() - keep_);
        return;
    }
    if (kept_.size() + data.size() > 2 * keep_) {
        kept_.erase(0, kept_.size() - keep_);
    }
    kept_ += data;
}

std::string_view Capture::end() const {
    const std::string_view kept = kept_;
    return kept.size() > keep_ ? kept.substr(kept.size() - keep_) : kept;
}

std::string Capture::digest() {
    if (!hash_) {
        return {};
    }
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::array<std::uint8_t, SHA256_DIGEST> digest{};
    rgap_sha256_finish(&state_, digest.data());
    std::string text;
    for (const unsigned byte : digest) {
        text += kHex[byte >> 4U];
        text += kHex[byte & 0xFU];
    }
    return text;
}

std::string base64(std::string_view data) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((data.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < data.size(); at += 3) {
        const std::size_t have = data.size() - at < 3 ? data.size() - at : 3;
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            word = word << 8U | (i < have ? static_cast<unsigned char>(data[at + i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            text += i <= have ? kDigits[word >> (18U - 6U * i) & 0x3FU] : '=';
        }
    }
    return text;
}

std::string end_of_file(const std::string& path, std::size_t keep_bytes) {
    if (!std::filesystem::is_regular_file(path)) {  // reading a pipe without a writer would block
        throw std::system_error(ENOENT, std::generic_category(), path);
    }
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0) {
        throw std::system_error(errno != 0 ? errno : ENOENT, std::generic_category(), path);
    }
    const auto kept = std::min<std::streamoff>(size, static_cast<std::streamoff>(keep_bytes));
    file.seekg(size - kept);
    std::string text(static_cast<std::size_t>(kept), '\0');
    file.read(text.data(), kept);
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

}  // namespace aferir::launch

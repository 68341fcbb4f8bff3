#include "common/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace aferir {
namespace {

std::string escaped(std::string_view text) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::string out = "\"";
    for (const char character : text) {
        const auto code = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            out += '\\';
            out += character;
        } else if (code < 0x20U) {
            out += "\\u00";
            out += kHex[code >> 4U];
            out += kHex[code & 0xFU];
        } else {
            out += character;
        }
    }
    return out += '"';
}

}  // namespace

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
    return raw(name, escaped(value));
}

JsonObject& JsonObject::number(std::string_view name, double value) {
    if (!std::isfinite(value)) {
        return raw(name, "null");
    }
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return raw(name, {digits.data(), end});
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
    return raw(name, value ? "true" : "false");
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
    if (!fields_.empty()) {
        fields_ += ',';
    }
    fields_ += escaped(name);
    fields_ += ':';
    fields_ += json;
    return *this;
}

std::string JsonObject::str() const { return "{" + fields_ + "}"; }

}  // namespace aferir

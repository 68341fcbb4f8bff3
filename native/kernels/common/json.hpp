#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace aferir {

/// One JSON object, written field by field on one line. Numbers keep every digit (shortest text
/// that reads back the same); infinities and NaN, which JSON lacks, become null.
class JsonObject {
  public:
    JsonObject& text(std::string_view name, std::string_view value);
    JsonObject& number(std::string_view name, double value);
    JsonObject& boolean(std::string_view name, bool value);
    /// Inserts `json`, an array or another object, unchanged.
    JsonObject& raw(std::string_view name, std::string_view json);

    template <std::integral Integer>
    JsonObject& integer(std::string_view name, Integer value) {
        return raw(name, std::to_string(value));
    }

    [[nodiscard]] std::string str() const;

  private:
    std::string fields_;
};

}  // namespace aferir

#pragma once

#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace aferir {

/// The command line is wrong; the message says how to put it right.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~UsageError() override;
};

/// Options of one command line: `--name value`, `--name=value`, or a bare `--flag`.
class Arguments {
  public:
    /// `names` take a value, `flags` do not. Errors: UsageError for anything else.
    Arguments(std::span<const std::string_view> given, std::span<const std::string_view> names,
              std::span<const std::string_view> flags);

    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::optional<std::string_view> value(std::string_view name) const;

    /// Errors: UsageError unless the value is a whole number from `least` to `most`.
    [[nodiscard]] long long integer(std::string_view name, long long otherwise, long long least,
                                    long long most) const;

  private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace aferir

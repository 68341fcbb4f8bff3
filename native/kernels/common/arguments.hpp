#pragma once

#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace aferir {

/// The command line is wrong; the message says how to correct it.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~UsageError() override;
};

/// Options of one command line: `--name value`, `--name=value`, or a bare `--flag`.
class Arguments {
  public:
    /// Parses the options, of which `names` take a value and `flags` do not. Errors: UsageError for
    /// anything else.
    Arguments(std::span<const std::string_view> given, std::span<const std::string_view> names,
              std::span<const std::string_view> flags);

    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::optional<std::string_view> value(std::string_view name) const;

    /// Value of an option as a whole number from `least` to `most`; `otherwise` without the option.
    /// Errors: UsageError.
    [[nodiscard]] long long integer(std::string_view name, long long otherwise, long long least,
                                    long long most) const;

  private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace aferir

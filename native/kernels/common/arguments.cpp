#include "common/arguments.hpp"

#include <algorithm>
#include <charconv>

namespace aferir {
namespace {

bool contains(std::span<const std::string_view> list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

UsageError::~UsageError() = default;

Arguments::Arguments(std::span<const std::string_view> given,
                     std::span<const std::string_view> names,
                     std::span<const std::string_view> flags) {
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto equals = given[i].find('=');
        const auto name = given[i].substr(0, equals);
        if (contains(flags, name) && equals == std::string_view::npos) {
            values_.insert_or_assign(std::string(name), "");
            continue;
        }
        if (!contains(names, name)) {
            throw UsageError("unknown argument " + quoted(given[i]) +
                             "; --help lists what is known");
        }
        if (equals == std::string_view::npos && i + 1 == given.size()) {
            throw UsageError(std::string(name) + " needs a value; --help says which");
        }
        const auto value =
            equals == std::string_view::npos ? given[++i] : given[i].substr(equals + 1);
        values_.insert_or_assign(std::string(name), std::string(value));
    }
}

bool Arguments::has(std::string_view name) const { return values_.contains(name); }

std::optional<std::string_view> Arguments::value(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) {
        return std::nullopt;
    }
    return found->second;
}

long long Arguments::integer(std::string_view name, long long otherwise, long long least,
                             long long most) const {
    const auto text = value(name);
    if (!text) {
        return otherwise;
    }
    long long number = 0;
    const auto* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc{} || stop != end || number < least || number > most) {
        throw UsageError(std::string(name) + " is " + quoted(*text) +
                         "; give a whole number from " + std::to_string(least) + " to " +
                         std::to_string(most));
    }
    return number;
}

}  // namespace aferir

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace aferir::loadgen {

/// A tag of an XML document, with its name without a prefix.
struct Tag {
    std::string name;
    std::map<std::string, std::string, std::less<>> attributes;
    /// `<name>` and `<name/>` open an element; `</name>` and `<name/>` close it.
    bool opens = true;
    bool closes = false;

    /// The attribute's value; empty if it is missing.
    [[nodiscard]] std::string_view value(std::string_view attribute) const;
};

/// Takes the next tag from `rest`; skips text, comments, instructions and declarations. Nothing at
/// the end, or if what follows is no tag: then `rest` is not empty.
std::optional<Tag> take_tag(std::string_view& rest);

}  // namespace aferir::loadgen

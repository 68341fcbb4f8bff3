#include "loadgen/xml.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace aferir::loadgen {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
/// What is skipped, with the text that ends it. A declaration may not contain others.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSkipped{
    {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}}};

std::string decoded(std::string_view text) {
    std::string made;
    while (true) {
        const std::size_t plain = std::min(text.find('&'), text.size());
        made.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) {
            return made;
        }
        const auto* known = std::ranges::find_if(
            kEntities, [&](const auto& one) { return text.starts_with(one.first); });
        made.push_back(known == kEntities.end() ? '&' : known->second);
        text.remove_prefix(known == kEntities.end() ? 1 : known->first.size());
    }
}

void skip_space(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
}

std::string take_name(std::string_view& rest) {
    const std::string_view name = rest.substr(0, rest.find_first_of(" \t\r\n=/>"));
    rest.remove_prefix(name.size());
    return std::string(name);
}

/// Takes ` = "value"`; false if it is something else.
bool take_value(std::string_view& rest, std::string& value) {
    skip_space(rest);
    if (!rest.starts_with('=')) {
        return false;
    }
    rest.remove_prefix(1);
    skip_space(rest);
    const std::size_t end = rest.empty() ? std::string_view::npos : rest.find(rest.front(), 1);
    if (end == std::string_view::npos || (rest.front() != '"' && rest.front() != '\'')) {
        return false;
    }
    value = decoded(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    return true;
}

/// Moves to the next `<` of a tag; false at the end of the document or in something that has none.
bool find_tag(std::string_view& rest) {
    while (true) {
        rest.remove_prefix(std::min(rest.find('<'), rest.size()));
        bool skipped = false;
        for (const auto& [begin, end] : kSkipped) {
            if (!skipped && rest.starts_with(begin)) {
                const std::size_t at = rest.find(end, begin.size());
                if (at == std::string_view::npos) {
                    return false;
                }
                rest.remove_prefix(at + end.size());
                skipped = true;
            }
        }
        if (!skipped) {
            return !rest.empty();
        }
    }
}

}  // namespace

std::string_view Tag::value(std::string_view attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<Tag> take_tag(std::string_view& rest) {
    if (!find_tag(rest)) {
        return std::nullopt;
    }
    std::string_view after = rest.substr(1);
    Tag tag;
    if (after.starts_with('/')) {
        after.remove_prefix(1);
        tag.opens = false;
        tag.closes = true;
    }
    tag.name = take_name(after);
    tag.name.erase(0, tag.name.find(':') + 1);
    while (true) {
        skip_space(after);
        if (after.starts_with("/>")) {
            after.remove_prefix(1);
            tag.closes = true;
        }
        if (after.starts_with('>')) {
            rest = after.substr(1);
            return tag.name.empty() ? std::nullopt : std::optional(tag);
        }
        const std::string name = take_name(after);
        std::string value;
        if (name.empty() || !take_value(after, value)) {
            return std::nullopt;
        }
        tag.attributes[name] = value;
    }
}

}  // namespace aferir::loadgen

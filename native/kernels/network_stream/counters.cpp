#include "network_stream/counters.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace aferir {
namespace {

std::string read_file(const char* path) {
    std::ifstream const file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto end = text.find_first_of(separators);
        if (end != 0) {
            parts.push_back(text.substr(0, end));
        }
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return parts;
}

bool number(std::string_view text, std::int64_t& value) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

Counters parse_counters(std::string_view text) {
    Counters counters;
    const auto lines = split(text, "\n");
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        const auto names = split(lines[i], " ");
        const auto values = split(lines[i + 1], " ");
        if (names.size() < 2 || names.size() != values.size() || names[0] != values[0]) {
            continue;
        }
        ++i;
        if (names[0].find("Tcp") == std::string_view::npos) {
            continue;
        }
        const std::string prefix(names[0].substr(0, names[0].size() - 1));
        for (std::size_t k = 1; k < names.size(); ++k) {
            std::int64_t value = 0;
            if (number(values[k], value)) {
                counters[prefix + std::string(names[k])] = value;
            }
        }
    }
    return counters;
}

Counters difference(const Counters& before, const Counters& after) {
    Counters grown;
    for (const auto& [name, value] : after) {
        const auto old = before.find(name);
        const auto growth = value - (old == before.end() ? 0 : old->second);
        if (growth > 0) {
            grown[name] = growth;
        }
    }
    return grown;
}

std::map<std::string, LinkBytes> parse_links(std::string_view text) {
    constexpr std::size_t kSentBytes = 8;  // fields after the name: 8 of receiving come first
    std::map<std::string, LinkBytes> links;
    for (const auto line : split(text, "\n")) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) {
            continue;
        }
        const auto name = split(line.substr(0, colon), " ");
        const auto fields = split(line.substr(colon + 1), " ");
        LinkBytes bytes;
        if (name.size() == 1 && name[0] != "lo" && fields.size() > kSentBytes &&
            number(fields[0], bytes.received) && number(fields[kSentBytes], bytes.sent)) {
            links[std::string(name[0])] = bytes;
        }
    }
    return links;
}

Counters read_counters() {
    auto counters = parse_counters(read_file("/proc/net/snmp"));
    counters.merge(parse_counters(read_file("/proc/net/netstat")));
    return counters;
}

std::map<std::string, LinkBytes> read_links() { return parse_links(read_file("/proc/net/dev")); }

}  // namespace aferir

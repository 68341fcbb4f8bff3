#include "loadgen/http.hpp"

#include <algorithm>
#include <utility>

#include "loadgen/text.hpp"

namespace aferir::loadgen {

namespace {

/// Finds the first empty line at or after `from`. Returns where the line before it ends, and the
/// length of both line ends together; npos if there is none.
std::pair<std::size_t, std::size_t> empty_line(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find('\n', from); at != std::string_view::npos;
         at = text.find('\n', at + 1)) {
        const std::string_view after = text.substr(at + 1, 2);
        if (after.starts_with('\n')) {
            return {at + 1, 1};
        }
        if (after == "\r\n") {
            return {at + 1, 2};
        }
    }
    return {std::string_view::npos, 0};
}

/// The next line, with those that continue it after a blank; `rest` begins after them.
std::string take_line(std::string_view& rest) {
    std::string line;
    do {
        const std::size_t end = rest.find('\n');
        std::string_view part = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (part.ends_with('\r')) {
            part.remove_suffix(1);
        }
        line.append(part);
    } while (!rest.empty() && kBlanks.find(rest.front()) != std::string_view::npos);
    return line;
}

}  // namespace

std::string request(std::string_view method, const Target& target, bool keeps) {
    std::string text;
    text.append(method).append(" ").append(target.path).append(" HTTP/1.1\r\nHost: ");
    text.append(target.host).append("\r\nUser-Agent: aferir\r\nAccept: */*\r\n");
    text.append(keeps ? "" : "Connection: close\r\n");
    if (method != "GET") {
        text.append("Content-Length: 0\r\n");
    }
    return text.append("\r\n");
}

std::size_t ResponseHead::feed(std::span<const char> bytes) {
    if (state_ != State::kReading) {
        return 0;
    }
    const std::size_t before = text_.size();
    text_.append(bytes.data(), std::min(bytes.size(), kMostBytes - before));
    // The empty line may be split between two pieces.
    const auto [end, length] = empty_line(text_, before < 2 ? 0 : before - 2);
    if (end == std::string::npos) {
        if (text_.size() >= kMostBytes) {
            state_ = State::kBroken;
        }
        return text_.size() - before;
    }
    text_.resize(end);
    parse();
    return end + length - before;
}

void ResponseHead::parse() {
    std::string_view rest = text_;
    bool first = true;
    while (!rest.empty()) {
        const std::string line = take_line(rest);
        if (!(first ? parse_status(line) : parse_field(line))) {
            state_ = State::kBroken;
            return;
        }
        first = false;
    }
    state_ = first ? State::kBroken : State::kDone;
}

bool ResponseHead::parse_status(std::string_view line) {
    // "HTTP/1.1 200 OK"; the reason may be missing.
    if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') {
        return false;
    }
    const std::optional<int> status = number<int>(line.substr(9, 3));
    if (!status || *status < 100 || *status > 599 || (line.size() > 12 && line[12] != ' ')) {
        return false;
    }
    status_ = *status;
    closes_ = line[7] == '0';
    return true;
}

bool ResponseHead::parse_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
        return false;
    }
    const std::string_view name = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (same_word(name, "content-length")) {
        return take_length(value);
    }
    if (same_word(name, "transfer-encoding")) {
        take_encoding(value);
    } else if (same_word(name, "connection")) {
        take_connection(value);
    } else if (same_word(name, "location")) {
        location_ = value;
    } else if (same_word(name, "aferir-leave")) {
        leave_ = value;
    }
    return true;
}

/// Takes the value of Content-Length: one number, or the same one several times (RFC 9110, 8.6).
bool ResponseHead::take_length(std::string_view value) {
    while (true) {
        const std::size_t comma = std::min(value.find(','), value.size());
        const std::optional<std::int64_t> length =
            number<std::int64_t>(trimmed(value.substr(0, comma)));
        if (!length || *length < 0 || (content_length_ && *content_length_ != *length)) {
            return false;
        }
        content_length_ = length;
        if (comma == value.size()) {
            return true;
        }
        value.remove_prefix(comma + 1);
    }
}

/// Takes the value of Transfer-Encoding. The last coding decides (RFC 9112, 6.3): with any other
/// than `chunked` the body ends with the connection, whatever a Content-Length says.
void ResponseHead::take_encoding(std::string_view value) {
    const std::size_t comma = value.rfind(',');
    const std::size_t last = comma == std::string_view::npos ? 0 : comma + 1;
    chunked_ = same_word(trimmed(value.substr(last)), "chunked");
    encoded_ = encoded_ || !same_word(value, "identity");
}

/// Takes the value of Connection: a list of options (RFC 9110, 7.6.1), of which "close" may be one.
void ResponseHead::take_connection(std::string_view options) {
    while (true) {
        const std::size_t comma = std::min(options.find(','), options.size());
        const std::string_view option = trimmed(options.substr(0, comma));
        if (same_word(option, "close")) {
            closes_ = says_close_ = true;
        } else if (same_word(option, "keep-alive") && !says_close_) {
            closes_ = false;  // of HTTP/1.0
        }
        if (comma == options.size()) {
            return;
        }
        options.remove_prefix(comma + 1);
    }
}

}  // namespace aferir::loadgen

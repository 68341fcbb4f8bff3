#include "wordcount/map_reduce.hpp"

#include <algorithm>
#include <atomic>

#include "io/hash.hpp"
#include "io/text.hpp"
#include "io/threads.hpp"

namespace aferir::wordcount {
namespace {

constexpr std::size_t kPartsOfMap = 16;  // so that no thread waits long for the last

}  // namespace

std::vector<std::string_view> split(std::string_view text, std::size_t parts) {
    std::vector<std::string_view> cut;
    std::size_t start = 0;
    for (std::size_t part = 1; part <= parts; ++part) {
        auto end = std::max(start, text.size() / parts * part);
        end = part == parts ? text.size() : end;
        while (end > 0 && end < text.size() && io::term_letter(text[end - 1]) != '\0' &&
               io::term_letter(text[end]) != '\0') {
            ++end;
        }
        cut.push_back(text.substr(start, end - start));
        start = end;
    }
    return cut;
}

std::vector<io::TermCounter> count_terms(std::string_view text, int maps, int reduces) {
    const auto reducers = static_cast<std::size_t>(reduces);
    const auto parts = split(text, static_cast<std::size_t>(maps) * kPartsOfMap);
    std::vector<std::vector<io::TermCounter>> mapped(static_cast<std::size_t>(maps));
    std::atomic<std::size_t> next{0};
    io::in_threads(maps, [&](int map) {
        auto& tables = mapped[static_cast<std::size_t>(map)];
        tables.resize(reducers);
        for (auto part = next++; part < parts.size(); part = next++) {
            io::for_each_term(parts[part], [&](std::string_view term) {
                const auto hash = io::hash_text(term);
                tables[(hash >> 32U) % reducers].add(term, hash);
            });
        }
    });
    std::vector<io::TermCounter> reduced(reducers);
    io::in_threads(reduces, [&](int reduce) {
        const auto reducer = static_cast<std::size_t>(reduce);
        for (const auto& tables : mapped) {
            tables[reducer].for_each(
                [&](auto term, auto hash, auto times) { reduced[reducer].add(term, hash, times); });
        }
    });
    return reduced;
}

}  // namespace aferir::wordcount

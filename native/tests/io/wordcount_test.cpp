// Tests that map-reduce cuts no term, and that counts do not depend on the number of threads.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "io/text.hpp"
#include "wordcount/map_reduce.hpp"

namespace aferir::wordcount {
namespace {

std::string some_text(std::size_t bytes) {
    std::string text;
    std::vector<std::uint32_t> drawn;
    io::TextSource(11, 700).make(1, bytes, text, drawn);
    return text;
}

TEST(Split, PartsMakeUpTheTextAndCutNoTerm) {
    for (const auto& text : {some_text(5000), std::string("x"), std::string(), std::string(99, 'a'),
                             std::string("a b c d e f")}) {
        for (const std::size_t parts : {1U, 2U, 3U, 16U, 200U}) {
            std::string together;
            const auto cut = split(text, parts);
            EXPECT_EQ(cut.size(), parts);
            for (const auto part : cut) {
                if (!together.empty() && !part.empty()) {
                    EXPECT_TRUE(io::term_letter(together.back()) == '\0' ||
                                io::term_letter(part.front()) == '\0');
                }
                together += part;
            }
            EXPECT_EQ(together, text);
        }
    }
}

TEST(MapReduce, CountsTheSameWhateverTheThreads) {
    const auto text = some_text(200'000);
    std::map<std::string, std::uint64_t> expected;
    io::for_each_term(text, [&](std::string_view term) { expected[std::string(term)] += 1; });
    for (const auto& [maps, reduces] : {std::pair{1, 1}, {2, 3}, {7, 5}}) {
        std::map<std::string, std::uint64_t> found;
        for (const auto& table : count_terms(text, maps, reduces)) {
            table.for_each([&](auto term, auto /*hash*/, auto times) {
                EXPECT_TRUE(found.emplace(term, times).second) << "two reducers have it";
            });
        }
        EXPECT_EQ(found, expected);
    }
}

}  // namespace
}  // namespace aferir::wordcount

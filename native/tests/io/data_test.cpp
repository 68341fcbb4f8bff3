// Tests what is generated from a seed: terms, their frequencies, documents, and files with
// duplicates.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "folder.hpp"
#include "io/duplicates.hpp"
#include "io/hash.hpp"
#include "io/text.hpp"
#include "io/tree.hpp"

namespace aferir::io {
namespace {

constexpr std::uint32_t kTerms = 3000;

TEST(Vocabulary, AllTermsDifferAndAreLowerCaseLetters) {
    const Vocabulary vocabulary(100'000);
    std::set<std::string_view> seen;
    for (std::uint32_t term = 0; term < vocabulary.size(); ++term) {
        const auto letters = vocabulary.term(term);
        ASSERT_TRUE(seen.insert(letters).second) << letters;
        ASSERT_TRUE(!letters.empty() && letters.size() < kLongestTerm);
        ASSERT_TRUE(std::all_of(letters.begin(), letters.end(),
                                [](char letter) { return term_letter(letter) == letter; }));
    }
}

TEST(Zipf, TheFrequencyOfATermFallsWithItsRank) {
    const Zipf zipf(100);
    std::vector<double> drawn(100);
    Random random(7, 7);
    constexpr int kDraws = 1'000'000;
    for (int draw = 0; draw < kDraws; ++draw) {
        drawn[zipf.draw(random.next())] += 1;
    }
    constexpr double kSum = 5.187377517639621;  // of 1/k for k from 1 to 100
    for (const int rank : {1, 2, 3, 10, 50, 100}) {
        const double expected = kDraws / (rank * kSum);
        EXPECT_NEAR(drawn[static_cast<std::size_t>(rank - 1)], expected, 6 * std::sqrt(expected));
    }
}

TEST(Text, IsTheSameEveryTimeAndAnotherForAnotherSeedOrDocument) {
    const auto make = [](std::uint64_t seed, std::uint64_t document) {
        std::string text;
        std::vector<std::uint32_t> drawn;
        TextSource(seed, kTerms).make(document, 5000, text, drawn);
        return text;
    };
    EXPECT_EQ(make(1, 2), make(1, 2));
    EXPECT_NE(make(1, 2), make(1, 3));
    EXPECT_NE(make(1, 2), make(2, 2));
}

TEST(Text, HasTheTermsThatTheGeneratorSays) {
    const TextSource source(3, kTerms);
    std::string text;
    std::vector<std::uint32_t> drawn;
    for (const std::size_t bytes : {1U, 100U, 70'000U}) {
        source.make(bytes, bytes, text, drawn);
        EXPECT_GE(text.size(), bytes);
        EXPECT_EQ(text.back(), '\n');
        std::size_t next = 0;
        for_each_term(text, [&](std::string_view term) {
            ASSERT_LT(next, drawn.size());
            EXPECT_EQ(term, source.vocabulary().term(drawn[next++]));
        });
        EXPECT_EQ(next, drawn.size());
    }
}

TEST(Text, TermsOfAnyBytesAreLettersAndCut) {
    const std::string text = std::string("A\0bC\xFF", 5) + std::string(200, 'z') + "9";
    std::vector<std::string> terms;
    for_each_term(text, [&](std::string_view term) { terms.emplace_back(term); });
    EXPECT_EQ(terms, (std::vector<std::string>{"a", "bc", std::string(kLongestTerm, 'z')}));
    std::string bytes;
    Random random(1, 1);
    for (int i = 0; i < 100'000; ++i) {
        bytes += static_cast<char>(random.next());
    }
    for_each_term(bytes, [](std::string_view term) {
        ASSERT_TRUE(!term.empty() && term.size() <= kLongestTerm);
    });
}

TEST(Tree, IsTheSameWhoeverWritesWhichDocument) {
    const TextSource source(5, kTerms);
    const auto sizes = document_sizes(5, 3'000'000);
    std::vector<TermTotal> alone(kTerms);
    std::vector<TermTotal> shared(kTerms);
    const Folder one;
    const Folder three;
    const auto whole = write_documents(one.path(), source, sizes, 0, 1, alone, false);
    Written parts;
    for (std::size_t first = 0; first < 3; ++first) {
        const auto part = write_documents(three.path(), source, sizes, first, 3, shared, true);
        parts.bytes += part.bytes;
        parts.hash += part.hash;
    }
    EXPECT_EQ(whole.bytes, parts.bytes);
    EXPECT_EQ(whole.hash, parts.hash);
    EXPECT_EQ(alone, shared);
    EXPECT_GE(whole.bytes, 3'000'000U);
    EXPECT_TRUE(std::filesystem::exists(document_path(three.path(), sizes.size() - 1)));
}

TEST(Tree, TotalsAreThoseOfACountOfTheFiles) {
    const TextSource source(6, kTerms);
    std::vector<TermTotal> totals(kTerms);
    std::vector<std::uint32_t> drawn{4, 9, 4, 4};
    add_document(totals, 17, drawn);
    EXPECT_EQ(totals[4], (TermTotal{3, 1, signature_of(17, 3)}));
    EXPECT_EQ(totals[9], (TermTotal{1, 1, signature_of(17, 1)}));
    EXPECT_NE(signature_of(17, 3), signature_of(3, 17));
}

TEST(Duplicates, TakeTheShareThatIsAskedFor) {
    for (const unsigned percent : {0U, 30U, 50U, 90U}) {
        constexpr std::uint64_t kBytes = 100'000'001;
        const auto plan = duplicate_plan(3, kBytes, percent);
        std::uint64_t sum = 0;
        std::map<std::uint64_t, std::uint32_t> first;
        for (const auto& segment : plan) {
            sum += segment.bytes;
            const auto [known, fresh] = first.emplace(segment.document, segment.bytes);
            EXPECT_EQ(segment.repeated, !fresh);
            EXPECT_LE(segment.bytes, known->second);
        }
        EXPECT_EQ(sum, kBytes);
        const auto share = static_cast<double>(repeated_bytes(plan)) / kBytes;
        EXPECT_NEAR(share, percent / 100.0, 0.01);
    }
}

TEST(Duplicates, RepeatedSegmentsAreEqualInTheFile) {
    const Folder folder;
    const TextSource source(1, kTerms);
    const auto plan = duplicate_plan(2, 4'000'000, 50);
    const auto path = folder.path() / "data";
    write_duplicates(path, source, plan, false);
    EXPECT_EQ(std::filesystem::file_size(path), 4'000'000U);
    Volume volume;
    File file(path, 0, volume);
    std::map<std::uint64_t, std::uint64_t> seen;
    std::uint64_t offset = 0;
    for (const auto& segment : plan) {
        std::vector<std::byte> data(segment.bytes);
        ASSERT_EQ(file.read_at(data, offset), data.size());
        offset += data.size();
        if (offset < 4'000'000U) {  // the last segment is cut
            const auto hash = hash_bytes(data);
            EXPECT_EQ(seen.emplace(segment.document, hash).first->second, hash);
        }
    }
}

}  // namespace
}  // namespace aferir::io

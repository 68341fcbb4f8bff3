// Tests hash tables in a fixed amount of memory, and postings stored in Berkeley DB.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/storage.hpp"
#include "folder.hpp"
#include "index/store.hpp"
#include "index/term_table.hpp"
#include "io/hash.hpp"

namespace aferir::index {
namespace {

using Postings = std::map<std::string, std::vector<Posting>>;

// Adds postings as the program does: those that do not fit are added again after a flush.
class Filled {
  public:
    explicit Filled(std::size_t bytes) : table_(bytes) {}

    void add(const std::string& term, std::uint64_t hash, Posting posting) {
        expected[term].push_back(posting);
        if (!table_.add(term, hash, posting)) {
            flush();
            ASSERT_TRUE(table_.add(term, hash, posting)) << "an empty table takes anything";
        }
    }

    void flush() {
        std::string last;
        table_.flush([&](auto term, auto postings) {
            EXPECT_LT(last, term) << "terms are in alphabetical order";
            last = term;
            auto& all = found[last];
            all.insert(all.end(), postings.begin(), postings.end());
        });
        EXPECT_EQ(table_.terms(), 0U);
        flushes += 1;
    }

    Postings expected;
    Postings found;
    int flushes = 0;

  private:
    TermTable table_;
};

TEST(TermTable, GivesBackWhatWasAddedHoweverOftenItWasFull) {
    for (const std::size_t bytes :
         {TermTable::kLeastBytes, std::size_t{20'000}, std::size_t{1} << 22U}) {
        Filled filled(bytes);
        io::Random random(1, bytes);
        for (std::uint32_t i = 0; i < 20'000; ++i) {
            const auto number = random.below(400);
            const auto term = std::string(1 + number % 60, 'a') + std::to_string(number);
            // Some terms have the same hash, so that only their letters distinguish them.
            filled.add(term, number % 3 == 0 ? 5 : io::hash_text(term), {i, 1 + i % 9});
        }
        filled.flush();
        EXPECT_EQ(filled.found, filled.expected) << bytes;
        EXPECT_EQ(filled.flushes > 1, bytes < 100'000) << bytes;
    }
}

TEST(TermTable, StaysWithinItsMemory) {
    TermTable table(TermTable::kLeastBytes);
    std::size_t bytes = 0;
    for (std::uint32_t number = 0;; ++number) {
        const auto term = "term" + std::to_string(number);
        if (!table.add(term, io::hash_text(term), {number, 1})) {
            break;
        }
        bytes += term.size() + sizeof(Posting);
        ASSERT_LT(bytes, TermTable::kLeastBytes);
    }
    EXPECT_GT(table.terms(), 10U);
    TermTable one(TermTable::kLeastBytes);
    std::uint32_t taken = 0;
    while (one.add("the", 1, {taken, 1})) {
        taken += 1;
    }
    EXPECT_GT(taken, 100U);
    EXPECT_LT(taken * sizeof(Posting), TermTable::kLeastBytes);
}

TEST(Store, GivesBackEveryBlockOfPostings) {
    const io::Folder folder;
    const auto path = folder.path() / "a.db";
    Postings expected;
    {
        Store store(path, 1U << 18U);
        for (std::uint32_t flush = 0; flush < 20; ++flush) {
            for (std::uint32_t number = 0; number < 300; ++number) {
                const auto term = "t" + std::to_string(number);
                const std::vector<Posting> block(1 + number % 200, Posting{flush, number});
                store.put(term, block);
                auto& all = expected[term];
                all.insert(all.end(), block.begin(), block.end());
            }
        }
        const auto counts = store.sync();
        EXPECT_GE(counts.written_bytes, std::filesystem::file_size(path));
        EXPECT_GT(counts.read_bytes, 0U) << "the cache is smaller than the file";
        EXPECT_EQ(counts.syncs, 1U);
    }
    Postings found;
    Store again(path, 1U << 18U);
    again.for_each([&](auto term, auto postings) {
        auto& all = found[std::string(term)];
        all.insert(all.end(), postings.begin(), postings.end());
    });
    EXPECT_EQ(found, expected);
}

TEST(Store, WhatIsNoStoreIsRefused) {
    const io::Folder folder;
    io::Volume volume;
    {
        io::File file(folder.path() / "b", O_WRONLY | O_CREAT, volume);
        const std::vector<std::byte> data(10'000, std::byte{9});
        file.append(data);
    }
    EXPECT_THROW(Store(folder.path() / "b", 1U << 18U), StorageError);
    EXPECT_THROW(Store(folder.path() / "none" / "c", 1U << 18U), StorageError);
}

}  // namespace
}  // namespace aferir::index

// Tests the checkpoint's data and layout, and that damage is found.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "checkpoint/pattern.hpp"
#include "checkpoint/phases.hpp"
#include "checkpoint/request.hpp"

namespace aferir::checkpoint {
namespace {

TEST(Pattern, EveryByteIsVerified) {
    std::vector<std::byte> data(4096);
    fill(data, 7, 1 << 20);
    EXPECT_EQ(wrong_words(data, 7, 1 << 20), 0U);
    EXPECT_EQ(wrong_words(data, 8, 1 << 20), 512U);
    EXPECT_EQ(wrong_words(data, 7, (1 << 20) + 8), 512U);
    for (const std::size_t at : {0U, 1U, 777U, 4095U}) {
        auto damaged = data;
        damaged[at] ^= std::byte{1};
        EXPECT_EQ(wrong_words(damaged, 7, 1 << 20), 1U);
    }
}

TEST(Layout, RanksShareAFileWithoutGapsOrOverlap) {
    for (const bool shared : {true, false}) {
        const Layout layout{3, 4, 60, 20, shared};
        std::map<std::uint64_t, std::set<std::uint64_t>> offsets;
        std::set<std::uint64_t> places;
        for (std::uint64_t rank = 0; rank < 3; ++rank) {
            for (std::uint64_t number = 0; number < layout.transfers(); ++number) {
                const auto offset = layout.offset(rank, number);
                EXPECT_TRUE(offsets[shared ? 0 : rank].insert(offset).second);
                EXPECT_TRUE(places.insert(layout.place(rank, number)).second);
            }
        }
        for (const auto& [file, found] : offsets) {
            EXPECT_EQ(found.size(), shared ? 36U : 12U);
            EXPECT_EQ(*found.rbegin(), (found.size() - 1) * 20);
        }
    }
    // As in IOR, a segment has a block of each rank, in order of rank.
    const Layout layout{2, 2, 40, 20, true};
    EXPECT_EQ(layout.offset(1, 0), 40U);
    EXPECT_EQ(layout.offset(0, 2), 80U);
    EXPECT_EQ(layout.offset(1, 3), 140U);
}

// A file in memory.
class MemoryChannel : public Channel {
  public:
    MemoryChannel(std::vector<std::byte>& file, int& syncs) : file_(file), syncs_(syncs) {}

    void write_at(std::span<const std::byte> data, std::uint64_t offset) override {
        file_.resize(std::max<std::size_t>(file_.size(), offset + data.size()));
        std::copy(data.begin(), data.end(), file_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void read_at(std::span<std::byte> data, std::uint64_t offset) override {
        std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(offset), data.size(), data.begin());
    }
    void sync() override { syncs_ += 1; }

  private:
    std::vector<std::byte>& file_;
    int& syncs_;
};

std::uint64_t wrong_of_one_rank(const std::function<void(std::vector<std::byte>&)>& between,
                                bool sync, int expected_syncs) {
    std::vector<std::byte> file;
    int syncs = 0;
    Options options;
    options.layout = {1, 2, 4096, 512, true};
    options.sync = sync;
    int barriers = 0;
    const Rank rank{
        .number = 0,
        .barrier =
            [&] {
                barriers += 1;
                if (barriers == 2) {
                    between(file);
                }
            },
        .open = [&](auto, bool) { return std::make_unique<MemoryChannel>(file, syncs); },
        .forget = [](auto) {},
    };
    const auto result = write_and_read(options, rank);
    EXPECT_EQ(file.size(), 8192U);
    EXPECT_EQ(syncs, expected_syncs);
    EXPECT_LE(result.write_begin_s, result.write_end_s);
    EXPECT_LE(result.write_end_s, result.read_begin_s);
    return result.wrong_words;
}

TEST(Phases, WhatIsReadIsVerified) {
    EXPECT_EQ(wrong_of_one_rank([](auto&) {}, true, 1), 0U);
    EXPECT_EQ(wrong_of_one_rank([](auto& file) { file[5000] ^= std::byte{128}; }, true, 1), 1U);
    EXPECT_EQ(wrong_of_one_rank(
                  [](auto& file) { std::fill_n(file.begin() + 512, 512, std::byte{0}); }, false, 0),
              64U);
}

TEST(Request, OptionsThatDoNotGoTogetherAreRefused) {
    const auto options = [](std::vector<std::string_view> given) {
        return options_of(Arguments(given, kNames, kFlags));
    };
    EXPECT_EQ(options({"--files=each"}).layout.shared, false);
    EXPECT_THROW(options({"--transfer-bytes=3000"}), UsageError);
    EXPECT_THROW(options({"--transfer-bytes=12", "--block-bytes=24"}), UsageError);
    EXPECT_THROW(options({"--transfer-bytes=512", "--direct"}), UsageError);
    EXPECT_THROW(options({"--direct", "--api=mpiio"}), UsageError);
    EXPECT_THROW(options({"--collective"}), UsageError);
    EXPECT_THROW(options({"--files=none"}), UsageError);
}

}  // namespace
}  // namespace aferir::checkpoint

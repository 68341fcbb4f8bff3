// Tests that chunks depend on the content, the pipeline keeps the order, and archives restore.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/storage.hpp"
#include "dedup/archive.hpp"
#include "dedup/chunker.hpp"
#include "dedup/digest.hpp"
#include "dedup/pipeline.hpp"
#include "dedup/queue.hpp"
#include "io/hash.hpp"

namespace aferir::dedup {
namespace {

Bytes noise(std::size_t bytes, std::uint64_t seed) {
    Bytes data(bytes);
    io::Random random(seed, 0);
    for (auto& byte : data) {
        byte = static_cast<std::byte>(random.next());
    }
    return data;
}

std::vector<std::size_t> ends_of_chunks(std::span<const std::byte> data) {
    std::vector<std::size_t> ends{0};
    while (ends.back() < data.size()) {
        ends.push_back(ends.back() + chunk_bytes(data.subspan(ends.back())));
    }
    return ends;
}

TEST(Chunker, ChunksAreWithinTheirBoundsAndNearTheMean) {
    const auto data = noise(8U << 20U, 1);
    const auto ends = ends_of_chunks(data);
    for (std::size_t chunk = 1; chunk + 1 < ends.size(); ++chunk) {
        ASSERT_GT(ends[chunk] - ends[chunk - 1], kLeastChunk);
        ASSERT_LE(ends[chunk] - ends[chunk - 1], kMostChunk);
    }
    EXPECT_EQ(ends.back(), data.size());
    const auto mean = static_cast<double>(data.size()) / static_cast<double>(ends.size() - 1);
    EXPECT_NEAR(mean, kMeanChunk, kMeanChunk * 0.25);
}

TEST(Chunker, WhatIsPutInMovesOnlyTheBoundariesNearIt) {
    const auto data = noise(2U << 20U, 2);
    const auto before = ends_of_chunks(data);
    for (const std::size_t at : {0U, 1U, 100'000U, 1'000'000U}) {
        for (const std::size_t more : {1U, 7U, 5000U}) {
            auto changed = data;
            const auto put = noise(more, 3);
            changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), put.begin(),
                           put.end());
            const auto ends = ends_of_chunks(changed);
            const std::set<std::size_t> after(ends.begin(), ends.end());
            std::size_t lost = 0;
            for (const auto end : before) {
                lost += !after.contains(end <= at ? end : end + more);
            }
            EXPECT_LE(lost, 12U) << "of " << before.size() << ", " << more << " put in at " << at;
        }
    }
}

TEST(Chunker, DataWithoutContentIsCutAtTheMostBytes) {
    const Bytes zeros(200'000);
    EXPECT_EQ(chunk_bytes(zeros), kMostChunk);
    EXPECT_EQ(chunk_bytes(std::span(zeros).first(10)), 10U);
    EXPECT_EQ(boundary_after(zeros, 100), zeros.size());
}

TEST(Digest, IsThatOfTheStandard) {
    const std::string abc = "abc";  // FIPS 180-4, example B.1
    const auto digest = sha256(std::as_bytes(std::span(abc)));
    EXPECT_EQ(digest[0], 0xBA);
    EXPECT_EQ(digest[1], 0x78);
    EXPECT_EQ(digest[31], 0xAD);
}

ReadAt reader_of(const Bytes& data) {
    return [&data](std::span<std::byte> to, std::uint64_t offset) {
        const auto from = std::min<std::size_t>(offset, data.size());
        const auto bytes = std::min(to.size(), data.size() - from);
        std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(from), bytes, to.begin());
        return bytes;
    };
}

Bytes archive_of(const Bytes& data, int threads, Found* found = nullptr) {
    Bytes archive;
    const auto put = [&](auto part) { archive.insert(archive.end(), part.begin(), part.end()); };
    const auto all = deduplicate(reader_of(data), {.threads = threads, .level = 1}, put);
    if (found != nullptr) {
        *found = all;
    }
    return archive;
}

Bytes restored(const Bytes& archive) {
    Bytes data;
    restore(reader_of(archive),
            [&](auto part) { data.insert(data.end(), part.begin(), part.end()); });
    return data;
}

TEST(Pipeline, RestoresWhateverTheSizeAndFindsWhatRepeats) {
    for (const std::size_t bytes : {0U, 1U, 5000U, 1U << 20U, (1U << 20U) + 1, 5U << 20U}) {
        const auto data = noise(bytes, bytes);
        EXPECT_EQ(restored(archive_of(data, 2)), data) << bytes;
    }
    auto data = noise(3U << 20U, 4);
    const auto half = data;
    data.push_back(std::byte{1});  // so that nothing is where it was
    data.insert(data.end(), half.begin(), half.end());
    Found found;
    EXPECT_EQ(restored(archive_of(data, 3, &found)), data);
    EXPECT_EQ(found.raw_bytes, data.size());
    EXPECT_GT(found.duplicate_bytes, half.size() * 90 / 100);
    EXPECT_LE(found.duplicate_bytes, half.size());
}

TEST(Pipeline, WritesTheSameWhateverTheThreads) {
    auto data = noise(6U << 20U, 5);
    const auto first = archive_of(data, 1);
    for (const int threads : {2, 5, 8}) {
        EXPECT_EQ(archive_of(data, threads), first) << threads;
    }
}

TEST(Pipeline, AnErrorInAnyStageEndsAllAndIsThrown) {
    const auto data = noise(20U << 20U, 6);
    EXPECT_THROW(deduplicate(reader_of(data), {.threads = 2, .level = 1},
                             [](auto) { throw StorageError("full"); }),
                 StorageError);
    const ReadAt broken = [&](auto to, auto offset) -> std::size_t {
        if (offset > (5U << 20U)) {
            throw StorageError("unreadable");
        }
        return reader_of(data)(to, offset);
    };
    EXPECT_THROW(deduplicate(broken, {.threads = 2, .level = 1}, [](auto) {}), StorageError);
}

TEST(Queue, GivesInOrderAndEndsWhenClosed) {
    Queue<int> queue;
    std::vector<int> got;
    std::jthread taker([&] {
        while (const auto item = queue.pop()) {
            got.push_back(*item);
        }
    });
    for (int item = 0; item < 1000; ++item) {
        queue.push(item);
    }
    queue.close();
    taker.join();
    EXPECT_EQ(got.size(), 1000U);
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    queue.push(1);
    queue.abandon();
    EXPECT_FALSE(queue.pop());
}

TEST(Archive, DamageIsFound) {
    const auto data = noise(100'000, 7);
    const auto archive = archive_of(data, 1);
    EXPECT_THROW(restored(Bytes()), ArchiveError);
    EXPECT_THROW(restored(Bytes(100)), ArchiveError);
    for (const std::size_t bytes : {8U, 9U, 1000U}) {
        EXPECT_THROW(restored(Bytes(archive.begin(), archive.end() - bytes)), ArchiveError);
    }
    auto changed = archive;
    changed[5000] ^= std::byte{4};
    EXPECT_THROW(restored(changed), ArchiveError);  // zlib's checksum
}

}  // namespace
}  // namespace aferir::dedup

#include "npb_mpi/host_memory.hpp"

#include <numeric>
#include <optional>
#include <string>

#include "common/shared_memory.hpp"

namespace aferir::npb {
namespace {

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// A file of `bytes`, a multiple of kHugePage, mapped by all ranks of this host, each of which
/// takes the pages of [begin, end).
HugeMapping map_together(const Ranks& ranks, std::size_t bytes, std::size_t begin,
                         std::size_t end) {
    std::optional<SharedFile> made;
    if (ranks.hosts().place == 0) {
        made.emplace(bytes);
    }
    const auto address = ranks.gather_from_mates(made ? made->address() : SharedFile::Address{})[0];
    const auto file = SharedFile::open(address);
    if (!file) {
        throw OutOfMemory(
            "cannot open the memory that the ranks of this host share; pass "
            "--share-among 1");
    }
    auto mapping = file->map(bytes);
    if (!SharedFile::take_pages(mapping, begin, end)) {
        throw OutOfMemory("cannot share " + std::to_string(bytes) +
                          " bytes with the other ranks of this host; choose a smaller problem or "
                          "raise the memory limit");
    }
    ranks.wait_for_mates();  // the maker's file stays until all have opened it
    return mapping;
}

}  // namespace

HostBytes common_bytes(const Ranks& ranks, std::size_t bytes) {
    const auto mates = ranks.hosts().mates().size();
    if (mates == 1) {
        return {HugeMapping(bytes), 0};
    }
    // The same offset for all ranks: that of the first one.
    const auto offset = ranks.gather_from_mates(HugeMapping::next_stagger())[0];
    const auto size = round_up(bytes + offset, kHugePage);
    const auto bound = [&](std::size_t place) {
        return size / kHugePage * place / mates * kHugePage;
    };
    const auto place = ranks.hosts().place;
    return {map_together(ranks, size, bound(place), bound(place + 1)), offset};
}

HugeMapping SharedBytes::map(const Ranks& ranks, std::size_t bytes, std::vector<void*>& parts) {
    if (ranks.hosts().mates().size() == 1) {
        HugeMapping alone(bytes);
        parts.push_back(alone.data());
        return alone;
    }
    const auto offset = HugeMapping::next_stagger();
    const auto sizes = ranks.gather_from_mates(round_up(bytes + offset, kHugePage));
    const auto offsets = ranks.gather_from_mates(offset);
    const auto end_of = [&](std::size_t place) {
        const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(place + 1);
        return std::accumulate(sizes.begin(), end, std::size_t{0});
    };
    const auto place = ranks.hosts().place;
    auto mapping =
        map_together(ranks, end_of(sizes.size() - 1), end_of(place) - sizes[place], end_of(place));
    for (std::size_t part = 0; part < sizes.size(); ++part) {
        parts.push_back(static_cast<std::byte*>(mapping.data()) + end_of(part) - sizes[part] +
                        offsets[part]);
    }
    return mapping;
}

SharedBytes::SharedBytes(const Ranks& ranks, std::size_t bytes)
    : mapping_(map(ranks, bytes, parts_)) {}

}  // namespace aferir::npb

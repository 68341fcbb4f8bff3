#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// Distribution of a problem over ranks: pure arithmetic, no messages.

namespace aferir::npb {

/// Half-open range.
struct Part {
    std::size_t begin;
    std::size_t end;

    [[nodiscard]] std::size_t size() const { return end - begin; }
    friend bool operator==(const Part&, const Part&) = default;
};

/// Part `index` of `count` contiguous parts of nearly equal size. All bounds but the last are
/// multiples of `unit`.
Part share_of(std::size_t size, int index, int count, std::size_t unit = 1);

/// Ranks by host: those that can share memory with one another.
struct Hosts {
    std::vector<std::vector<int>> members;  ///< of each host, in order of rank
    std::size_t own = 0;                    ///< the host of the rank that asked
    std::size_t place = 0;                  ///< that rank among the members of its host

    [[nodiscard]] const std::vector<int>& mates() const { return members[own]; }
};

/// Groups ranks by leader: those with the same leader, which is one of them, are on one host. Hosts
/// are in order of leader.
Hosts hosts_by_leader(std::span<const int> leaders, int rank);

/// Divides buckets with these `counts` into `parts` contiguous runs of about equal sums; returns
/// the parts + 1 bounds.
std::vector<std::size_t> split_buckets(std::span<const std::int64_t> counts, int parts);

/// Errors: UsageError, naming the kernel, unless `count` is a power of two up to `most`.
void require_power_of_two(std::string_view kernel, int count, int most);

/// A grid of processes, as square as their number allows and not higher than wide: for a power of
/// two, as many columns as rows or twice as many, as NPB 3 has it for CG and LU. Rank r is in row r
/// / columns and column r % columns.
///
/// In CG rank r owns segment r of every vector, so the segments of a row of processes are
/// contiguous. Those of a column are not: by an exchange, column c gets the contiguous segments
/// from c * rows on, and multiplies these.
struct ProcessGrid {
    int rows;
    int columns;

    [[nodiscard]] int row_of(int rank) const { return rank / columns; }
    [[nodiscard]] int column_of(int rank) const { return rank % columns; }
    [[nodiscard]] int rank_at(int row, int column) const { return row * columns + column; }

    /// Segment that a rank holds after the exchange, and contributes to its column.
    [[nodiscard]] int transposed(int rank) const { return column_of(rank) * rows + row_of(rank); }
    /// Rank that holds this segment after the exchange; the inverse of transposed().
    [[nodiscard]] int bringer_of(int segment) const {
        return rank_at(segment % rows, segment / rows);
    }
};

ProcessGrid process_grid(int count);

/// A grid for LU, whose pencils are at least two points wide along both axes. Errors: UsageError.
ProcessGrid pencil_grid(int size, int count);

/// Errors: UsageError, naming the kernel, unless `count` is at most `most`.
void require_at_most(std::string_view kernel, int count, int most);

}  // namespace aferir::npb

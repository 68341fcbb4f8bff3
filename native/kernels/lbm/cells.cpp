#include "lbm/cells.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "common/arguments.hpp"

namespace aferir::lbm {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Number of places to allocate for `count` cells in each direction: padded so that a cell's 19
/// populations fall on different cache sets, in caches whose ways are 4 to 128 KiB.
std::size_t padded(std::size_t count) {
    constexpr std::size_t kWay = (std::size_t{128} << 10U) / sizeof(double);
    constexpr std::size_t kShift = 6848 / sizeof(double);
    const auto rounded = (count + kWay - 1) / kWay * kWay;
    // Small lists are not rounded up to whole ways.
    return count < 4 * kWay ? (count + 7) / 8 * 8 + 24 : rounded + kShift;
}

int wrapped(int place, int size) {
    if (place < 0) {
        return place + size;
    }
    return place < size ? place : place - size;
}

/// A population of one of this rank's cells that is stored by another rank, or the reverse.
struct Link {
    int rank;
    int direction;
    std::size_t target;  ///< global number of the cell that reads it
    std::uint32_t cell;  ///< mine
};

class Lister {
  public:
    Lister(const Geometry& geometry, std::span<const int> owners, int rank)
        : geometry_(geometry), owners_(owners), rank_(rank) {}

    Cells list() {
        find_box();
        number_cells();
        link_ranks();
        find_runs();
        return std::move(cells_);
    }

  private:
    [[nodiscard]] bool is_mine(int y, int z) const { return owner(y, z) == rank_; }
    [[nodiscard]] int owner(int y, int z) const {
        return owners_[static_cast<std::size_t>(z) * static_cast<std::size_t>(geometry_.size.y) +
                       static_cast<std::size_t>(y)];
    }

    void find_box() {
        const auto size = geometry_.size;
        cells_.y0 = size.y;
        cells_.z0 = size.z;
        for (int z = 0; z < size.z; ++z) {
            for (int y = 0; y < size.y; ++y) {
                if (is_mine(y, z)) {
                    cells_.y0 = std::min(cells_.y0, y);
                    cells_.y1 = std::max(cells_.y1, y + 1);
                    cells_.z0 = std::min(cells_.z0, z);
                    cells_.z1 = std::max(cells_.z1, z + 1);
                }
            }
        }
        cells_.y0 = std::min(cells_.y0, cells_.y1);
        cells_.z0 = std::min(cells_.z0, cells_.z1);
    }

    void number_cells() {
        numbers_.assign(geometry_.solid.size(), kNone);
        std::uint32_t next = 0;
        for_rows([&](int y, int z) {
            cells_.row_cells.push_back(next);
            if (is_mine(y, z)) {
                const auto begin = geometry_.index(0, y, z);
                for (std::size_t i = begin; i < begin + row_length(); ++i) {
                    if (geometry_.solid[i] == 0) {
                        numbers_[i] = next++;
                    }
                }
            }
        });
        cells_.row_cells.push_back(next);
        cells_.count = next;
        cells_.stride = padded(next);
        cells_.at_border.assign(cells_.row_cells.size() - 1, 0);
    }

    [[nodiscard]] std::size_t row_length() const {
        return static_cast<std::size_t>(geometry_.size.x);
    }

    template <typename Use>
    void for_rows(Use use) const {
        for (int z = cells_.z0; z < cells_.z1; ++z) {
            for (int y = cells_.y0; y < cells_.y1; ++y) {
                use(y, z);
            }
        }
    }

    struct Neighbour {
        enum Kind { kWall, kFluid } kind;
        int y = 0;
        int z = 0;
        std::size_t number = 0;  ///< global
        int jump = 0;            ///< 1 from the last cells to the first, -1 the other way
    };

    /// Neighbour of a cell in a direction.
    [[nodiscard]] Neighbour neighbour(int x, int y, int z, Direction way) const {
        const auto size = geometry_.size;
        const int beside = x + way.x;
        const int above = y + way.y;
        const int behind = z + way.z;
        if ((geometry_.walls_y && (above < 0 || above >= size.y)) ||
            (geometry_.walls_z && (behind < 0 || behind >= size.z))) {
            return {Neighbour::kWall};
        }
        const int to_y = wrapped(above, size.y);
        const int to_z = wrapped(behind, size.z);
        const auto number = geometry_.index(wrapped(beside, size.x), to_y, to_z);
        if (geometry_.solid[number] != 0) {
            return {Neighbour::kWall};
        }
        const int jump = geometry_.ends == Ends::kPressure ? (beside >= size.x) - (beside < 0) : 0;
        return {Neighbour::kFluid, to_y, to_z, number, jump};
    }

    /// Calls use(x, cell) for the fluid cells of a row of mine.
    template <typename Use>
    void for_cells(int y, int z, Use use) const {
        if (is_mine(y, z)) {
            const auto begin = geometry_.index(0, y, z);
            for (int x = 0; x < geometry_.size.x; ++x) {
                const auto cell = numbers_[begin + static_cast<std::size_t>(x)];
                if (cell != kNone) {
                    use(x, cell);
                }
            }
        }
    }

    [[nodiscard]] bool has_foreign_neighbours(int y, int z) const {
        for (int behind = -1; behind <= 1; ++behind) {
            for (int above = -1; above <= 1; ++above) {
                if (!is_mine(wrapped(y + above, geometry_.size.y),
                             wrapped(z + behind, geometry_.size.z))) {
                    return true;
                }
            }
        }
        return false;
    }

    /// Finds the links to other ranks. Both ranks of a link find it independently, and number their
    /// common links in the same order: by direction, then by the cell that reads the population.
    void link_ranks() {
        std::vector<Link> incoming;
        std::vector<Link> outgoing;
        for_rows([&](int y, int z) {
            if (!is_mine(y, z) || !has_foreign_neighbours(y, z)) {
                return;
            }
            const auto before = incoming.size();
            for_cells(y, z, [&](int x, std::uint32_t cell) {
                add_links(x, y, z, cell, incoming, outgoing);
            });
            cells_.at_border[cells_.row(y - cells_.y0, z - cells_.z0)] = incoming.size() > before;
        });
        const auto order = [](const Link& a, const Link& b) {
            return std::tie(a.rank, a.direction, a.target) <
                   std::tie(b.rank, b.direction, b.target);
        };
        std::sort(incoming.begin(), incoming.end(), order);
        std::sort(outgoing.begin(), outgoing.end(), order);
        number_links(incoming, outgoing);
    }

    void add_links(int x, int y, int z, std::uint32_t cell, std::vector<Link>& incoming,
                   std::vector<Link>& outgoing) const {
        for (int q = 1; q < kDirections; ++q) {
            const auto way = kVelocities[static_cast<std::size_t>(q)];
            const auto to = neighbour(x, y, z, way);
            if (to.kind == Neighbour::kFluid && !is_mine(to.y, to.z)) {
                outgoing.push_back({owner(to.y, to.z), q, to.number, cell});
            }
            const auto from = neighbour(x, y, z, {-way.x, -way.y, -way.z});
            if (from.kind == Neighbour::kFluid && !is_mine(from.y, from.z)) {
                incoming.push_back({owner(from.y, from.z), q, geometry_.index(x, y, z), cell});
            }
        }
    }

    void number_links(const std::vector<Link>& incoming, const std::vector<Link>& outgoing) {
        cells_.places = kDirections * cells_.stride + incoming.size();
        if (cells_.places >= kNone) {
            throw UsageError("a process can have " + std::to_string(kNone / kDirections) +
                             " cells at most; choose a smaller box or more processes");
        }
        auto ghost = static_cast<std::uint32_t>(kDirections * cells_.stride);
        for (const auto& link : incoming) {
            if (cells_.peers.empty() || cells_.peers.back().rank != link.rank) {
                cells_.peers.push_back({link.rank, ghost, ghost, {}});
            }
            ghosts_.emplace_back(link.cell, link.direction, ghost);
            cells_.peers.back().ghosts_end = ++ghost;
        }
        auto peer = cells_.peers.begin();
        for (const auto& link : outgoing) {
            while (peer->rank != link.rank) {
                ++peer;
            }
            peer->places.push_back(place(opposite(link.direction), link.cell));
        }
        std::sort(ghosts_.begin(), ghosts_.end());
    }

    [[nodiscard]] std::uint32_t place(int direction, std::uint32_t cell) const {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(direction) * cells_.stride) +
               cell;
    }

    /// Place where an odd step finds population q of a cell.
    std::uint32_t place_before(int x, int y, int z, std::uint32_t cell, int q) {
        const auto way = kVelocities[static_cast<std::size_t>(q)];
        const auto from = neighbour(x, y, z, {-way.x, -way.y, -way.z});
        if (from.kind == Neighbour::kFluid && is_mine(from.y, from.z)) {
            return place(opposite(q), numbers_[from.number]);
        }
        if (from.kind == Neighbour::kFluid) {
            const auto found =
                std::lower_bound(ghosts_.begin(), ghosts_.end(), std::tuple(cell, q, 0U));
            return std::get<2>(*found);
        }
        return place(q, cell);
    }

    void find_runs() {
        for_rows([&](int y, int z) {
            const auto first = cells_.runs.size();
            cells_.row_runs.push_back(static_cast<std::uint32_t>(first));
            mark_jumps();
            for_cells(y, z, [&](int x, std::uint32_t cell) {
                Run run{cell, 1, {}};
                for (int q = 1; q < kDirections; ++q) {
                    run.at[static_cast<std::size_t>(q) - 1] = place_before(x, y, z, cell, q);
                }
                add_jumps(x, y, z, run);
                if (cells_.runs.size() == first || !continues(cells_.runs.back(), run)) {
                    cells_.runs.push_back(run);
                } else {
                    ++cells_.runs.back().length;
                }
            });
        });
        cells_.row_runs.push_back(static_cast<std::uint32_t>(cells_.runs.size()));
        mark_jumps();
    }

    void mark_jumps() {
        cells_.row_jumps.push_back({static_cast<std::uint32_t>(cells_.jumps[0].size()),
                                    static_cast<std::uint32_t>(cells_.jumps[1].size())});
    }

    /// Adds the populations that cross an end of the box. After an even step they are in the cell
    /// itself, after an odd one where the opposite population came from.
    void add_jumps(int x, int y, int z, const Run& cell) {
        for (int q = 1; q < kDirections; ++q) {
            const auto to = neighbour(x, y, z, kVelocities[static_cast<std::size_t>(q)]);
            if (to.kind == Neighbour::kFluid && to.jump != 0) {
                const int back = opposite(q);
                cells_.jumps[0].push_back({place(back, cell.first), to.jump * weight(q)});
                cells_.jumps[1].push_back(
                    {cell.at[static_cast<std::size_t>(back) - 1], to.jump * weight(q)});
            }
        }
    }

    static bool continues(const Run& run, const Run& cell) {
        for (std::size_t q = 0; q < run.at.size(); ++q) {
            if (run.at[q] + run.length != cell.at[q]) {
                return false;
            }
        }
        return true;
    }

    const Geometry& geometry_;
    std::span<const int> owners_;
    int rank_;
    Cells cells_;
    std::vector<std::uint32_t> numbers_;                                 ///< by global number
    std::vector<std::tuple<std::uint32_t, int, std::uint32_t>> ghosts_;  ///< cell, direction, place
};

}  // namespace

Cells list_cells(const Geometry& geometry, std::span<const int> owners, int rank) {
    return Lister(geometry, owners, rank).list();
}

}  // namespace aferir::lbm

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb/lu_differences.hpp"
#include "npb/lu_flow.hpp"
#include "npb/lu_fronts.hpp"
#include "npb/team.hpp"

namespace aferir::npb::AFERIR_ISA {

/// The fields of a run, in the order of `Fronts`.
struct LuFields {
    LuFields(const Fronts& layout, int parts)
        : fronts(layout), u(layout, parts), v(layout, parts), forcing(layout, parts) {}

    Fronts fronts;
    FrontArray<6> u;        ///< the state, and 1 / density
    FrontArray<5> v;        ///< between the sweeps: the solution of the lower triangle
    FrontArray<5> forcing;  ///< -H times the time step
};

/// What a thread leaves to the one that has the columns beside its own.
struct Relay {
    /// The products of its outermost point of a front.
    struct alignas(64) Gift {
        std::array<double, 5> values{};
    };

    explicit Relay(const Fronts& fronts)
        : first(fronts.first() - 1),
          gifts(static_cast<std::size_t>(fronts.end() - fronts.first() + 2)) {}

    [[nodiscard]] Gift& gift(std::ptrdiff_t front) {
        return gifts[static_cast<std::size_t>(front - first)];
    }

    std::ptrdiff_t first;
    std::vector<Gift> gifts;  ///< those before the first front and after the last stay 0
    Progress progress;        ///< in fronts swept
};

/// One thread's part in the sweeps: a range of blocks of W columns.
///
/// One step is D v = dt (R(u) + H) + lower(v) from the first front to the last, which also computes
/// R(u); then, backwards, D w = upper(v), v = v + w, u = u + v / (omega (2 - omega)), which also
/// updates u. A point gives each neighbour the product of its Jacobian block with v as soon as it
/// has v; u may then change. So u, v and H pass through memory once a sweep, and nothing else does.
template <int W>
class LuSweep {
  public:
    /// `before` and `after` are the threads with the columns beside ours, or null.
    LuSweep(LuFields& fields, const LuFactors& factors, LuShare share, Relay& own, Relay* before,
            Relay* after, int spins)
        : fields_(fields),
          factors_(factors),
          differences_(fields.fronts, factors),
          share_(share),
          own_(own),
          before_(before),
          after_(after),
          spins_(spins),
          chunk_(spins > 0 ? kChunk : fields.fronts.size()),
          gifts_(static_cast<std::size_t>((fields.fronts.size() + 2) * width())) {}

    void lower() {
        clear();
        const auto& fronts = fields_.fronts;
        for (auto front = fronts.first(); front < fronts.end(); front += chunk_) {
            const auto end = std::min(front + chunk_, fronts.end());
            if (before_ != nullptr) {
                before_->progress.wait(swept_ + static_cast<int>(end - fronts.first()), spins_);
            }
            for (auto f = front; f < end; ++f) {
                lower_front(f);
            }
            own_.progress.reach(swept_ + static_cast<int>(end - fronts.first()));
        }
        swept_ += static_cast<int>(fronts.end() - fronts.first());
    }

    void upper() {
        clear();
        const auto& fronts = fields_.fronts;
        for (auto front = fronts.end(); front > fronts.first(); front -= chunk_) {
            const auto end = std::max(front - chunk_, fronts.first());
            if (after_ != nullptr) {
                after_->progress.wait(swept_ + static_cast<int>(fronts.end() - end), spins_);
            }
            for (auto f = front - 1; f >= end; --f) {
                upper_front(f);
            }
            own_.progress.reach(swept_ + static_cast<int>(fronts.end() - end));
        }
        swept_ += static_cast<int>(fronts.end() - fronts.first());
    }

    /// Stores dt R(u) as the forcing of which it is the opposite: R(u) + H is then 0.
    void force() {
        each_residual([&](std::ptrdiff_t front, std::ptrdiff_t block, const Five<W>& residual) {
            store_five(fields_.forcing.at(front, block), residual);
        });
    }

    /// Adds for each column the squares of dt (R(u) + H) to `sums`, [block][quantity][lane].
    void add_squares(std::span<double> sums) {
        each_residual([&](std::ptrdiff_t /*front*/, std::ptrdiff_t block, const Five<W>& residual) {
            double* const sum = sums.data() + block * kFive;
            auto total = load_five(sum);
            unroll<5>([&](auto m) { total[m] += residual[m] * residual[m]; });
            store_five(sum, total);
        });
    }

  private:
    static constexpr std::ptrdiff_t kChunk = 8;
    static constexpr std::ptrdiff_t kFive = std::ptrdiff_t{5} * W;

    [[gnu::always_inline]] static Five<W> load_five(const double* source) {
        Five<W> five;
        unroll<5>([&](auto m) { five[m] = load_block<W>(source + m * W); });
        return five;
    }

    [[gnu::always_inline]] static void store_five(double* target, const Five<W>& five) {
        unroll<5>([&](auto m) { store_block<W>(target + m * W, five[m]); });
    }

    /// Doubles in a front of gifts.
    [[nodiscard]] std::ptrdiff_t width() const { return (share_.end - share_.begin) * kFive; }

    /// What the points visited last gave along x and y (of one front) and z (of a plane's fronts).
    [[nodiscard]] double* along_x() { return gifts_.data(); }
    [[nodiscard]] double* along_y() { return gifts_.data() + width(); }
    [[nodiscard]] double* along_z(std::ptrdiff_t front) {
        return gifts_.data() + (2 + front % fields_.fronts.size()) * width();
    }

    void clear() { std::memset(gifts_.data(), 0, gifts_.size() * sizeof(double)); }

    /// What the thread beside us gives to our outermost column, in all lanes.
    [[nodiscard]] static Five<W> from_neighbour(Relay* neighbour, std::ptrdiff_t front) {
        Five<W> gift{};
        if (neighbour != nullptr) {
            const auto& values = neighbour->gift(front).values;
            unroll<5>([&](auto m) { gift[m] = values[m] + Block<W>{}; });
        }
        return gift;
    }

    void to_neighbour(std::ptrdiff_t front, const double* outermost) {
        auto& values = own_.gift(front).values;
        for (std::size_t m = 0; m < values.size(); ++m) {
            values[m] = outermost[m * W];
        }
    }

    void lower_front(std::ptrdiff_t front) {
        differences_.enter(front);
        const LuFactors factors = factors_;  // a copy is known not to change as numbers are stored
        auto beside = from_neighbour(before_, front - 1);
        double const* const y = along_y();
        for (auto block = share_.begin; block < share_.end; ++block) {
            const auto place = (block - share_.begin) * kFive;
            const auto old = load_five(y + place);
            Five<W> right = residual(front, block, factors);
            unroll<5>([&](auto m) { right[m] += straddle<W - 1, W>(beside[m], old[m]); });
            lower_block(front, block, right, factors);
            beside = old;
        }
        to_neighbour(front, y + width() - kFive + W - 1);
    }

    void upper_front(std::ptrdiff_t front) {
        differences_.enter(front);
        const LuFactors factors = factors_;
        auto beside = from_neighbour(after_, front + 1);
        double const* const y = along_y();
        for (auto block = share_.end - 1; block >= share_.begin; --block) {
            const auto place = (block - share_.begin) * kFive;
            const auto old = load_five(y + place);
            Five<W> right;
            unroll<5>([&](auto m) { right[m] = straddle<1, W>(old[m], beside[m]); });
            upper_block(front, block, right, factors);
            beside = old;
        }
        to_neighbour(front, y);
    }

    /// `right` has the residual and the gifts along y.
    [[gnu::always_inline]] void lower_block(std::ptrdiff_t front, std::ptrdiff_t block,
                                            Five<W> right, const LuFactors& factors) {
        const auto flow = flow_at(fields_.u.at(front, block));
        const auto place = (block - share_.begin) * kFive;
        add_gifts(right, front, place);
        const auto delta =
            solve_diagonal<W>(right, flow, differences_.active<W>(block * W), factors);
        store_five(fields_.v.at(front, block), delta);
        give(Products<1, W>(delta, flow, factors), front, place);
    }

    /// `right` has the gifts along y.
    [[gnu::always_inline]] void upper_block(std::ptrdiff_t front, std::ptrdiff_t block,
                                            Five<W> right, const LuFactors& factors) {
        double* const u = fields_.u.at(front, block);
        const auto flow = flow_at(u);
        const auto place = (block - share_.begin) * kFive;
        add_gifts(right, front, place);
        auto delta = solve_diagonal<W>(right, flow, differences_.active<W>(block * W), factors);
        const auto v = load_five(fields_.v.at(front, block));
        unroll<5>([&](auto m) { delta[m] += v[m]; });
        give(Products<-1, W>(delta, flow, factors), front, place);
        Five<W> state = flow.state;
        unroll<5>([&](auto m) { state[m] += factors.step * delta[m]; });
        store_five(u, state);
        store_block<W>(u + kFive, 1.0 / state[0]);
    }

    [[gnu::always_inline]] void add_gifts(Five<W>& right, std::ptrdiff_t front,
                                          std::ptrdiff_t place) {
        const auto x = load_five(along_x() + place);
        const auto z = load_five(along_z(front) + place);
        unroll<5>([&](auto m) { right[m] += x[m] + z[m]; });
    }

    template <int Side>
    [[gnu::always_inline]] void give(const Products<Side, W>& products, std::ptrdiff_t front,
                                     std::ptrdiff_t place) {
        store_five(along_x() + place, products.along[0]);
        store_five(along_y() + place, products.along[1]);
        store_five(along_z(front) + place, products.along[2]);
    }

    template <typename PerBlock>
    void each_residual(const PerBlock& per_block) {
        const LuFactors factors = factors_;
        for (auto front = fields_.fronts.first(); front < fields_.fronts.end(); ++front) {
            differences_.enter(front);
            for (auto block = share_.begin; block < share_.end; ++block) {
                auto result = residual(front, block, factors);
                const auto active = differences_.active<W>(block * W);
                unroll<5>([&](auto m) { result[m] *= active; });
                per_block(front, block, result);
            }
        }
    }

    /// dt (R(u) + H); without meaning in lanes that are not active.
    [[nodiscard, gnu::always_inline]] Five<W> residual(std::ptrdiff_t front, std::ptrdiff_t block,
                                                       const LuFactors& factors) const {
        const auto weights = differences_.load<W>(block * W);
        const double* const u = fields_.u.at(front, block);
        Five<W> change = load_five(fields_.forcing.at(front, block));
        unroll<5>([&](auto m) { change[m] = -change[m]; });
        add_centre(change, flow_at(u), weights.centre, factors);
        const auto stride = fields_.u.stride(block);
        const auto plane = stride * fields_.fronts.size();
        add_axis<0>(
            change, [&](auto steps, auto m) { return load_block<W>(u + steps * stride + m * W); },
            weights, factors);
        add_axis<1>(
            change, [&](auto steps, auto m) { return across<steps>(front, block, m * W); }, weights,
            factors);
        add_axis<2>(
            change, [&](auto steps, auto m) { return load_block<W>(u + steps * plane + m * W); },
            weights, factors);
        return change;
    }

    [[gnu::always_inline]] static LuFlow<W> flow_at(const double* u) {
        return LuFlow<W>([&](auto m) { return load_block<W>(u + m * W); });
    }

    /// A quantity of the neighbours `Steps` points away along y.
    template <int Steps>
    [[nodiscard, gnu::always_inline]] Block<W> across(std::ptrdiff_t front, std::ptrdiff_t block,
                                                      std::ptrdiff_t quantity) const {
        constexpr int kLow = Steps > 0 ? 0 : -1;
        constexpr int kFirst = Steps > 0 ? Steps : W + Steps;
        const double* const low = fields_.u.at(front + Steps, block + kLow);
        const double* const high = fields_.u.at(front + Steps, block + kLow + 1);
        return straddle<kFirst, W>(load_block<W>(low + quantity), load_block<W>(high + quantity));
    }

    /// `load(steps, quantity)` gives a quantity of the neighbours `steps` points away.
    template <int Axis, typename Load>
    [[gnu::always_inline]] static void add_axis(Five<W>& change, const Load& load,
                                                const WeightBlocks<W>& weights,
                                                const LuFactors& factors) {
        const auto& weight = weights.neighbour[Axis];
        unroll<5>([&](auto m) {
            change[m] += weight[0] * load(Constant<-2>{}, m);
            change[m] += weight[3] * load(Constant<2>{}, m);
        });
        const LuFlow<W> before([&](auto m) { return load(Constant<-1>{}, m); });
        add_neighbour<Axis, -1>(change, before, weight[1], factors);
        const LuFlow<W> after([&](auto m) { return load(Constant<1>{}, m); });
        add_neighbour<Axis, 1>(change, after, weight[2], factors);
    }

    LuFields& fields_;
    LuFactors factors_;
    Differences differences_;
    LuShare share_;
    Relay& own_;
    Relay* before_;
    Relay* after_;
    int spins_;
    std::ptrdiff_t chunk_;
    HugeArray<double> gifts_;
    int swept_ = 0;
};

}  // namespace aferir::npb::AFERIR_ISA

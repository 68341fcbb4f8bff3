#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "common/memory.hpp"
#include "npb/lu_differences.hpp"
#include "npb/lu_flow.hpp"
#include "npb/lu_fronts.hpp"

namespace aferir::npb::AFERIR_ISA {

/// The fields of a run, in the order of `Fronts`.
struct LuFields {
    /// Makes the fields in memory of this process only.
    LuFields(const Fronts& layout, int parts)
        : LuFields(layout, parts, [](std::size_t size) { return HugeArray<double>(size); }) {}

    template <typename Allocate>
    LuFields(const Fronts& layout, int parts, const Allocate& allocate)
        : fronts(layout),
          u(layout, parts, allocate),
          v(layout, parts, allocate),
          forcing(layout, parts, allocate) {}

    static std::size_t bytes(const Fronts& layout) {
        const auto points = (layout.highest() - layout.lowest()) * layout.blocks() * layout.lanes();
        return static_cast<std::size_t>(points) * 16 * sizeof(double);
    }

    Fronts fronts;
    FrontArray<6> u;        ///< the state, and 1 / density
    FrontArray<5> v;        ///< between the sweeps: the solution of the lower triangle
    FrontArray<5> forcing;  ///< -H times the time step
};

/// One thread's or process's part in the sweeps: a range of blocks of W columns. `Links` exchanges
/// products with the parts that have the adjacent points (see RelayLinks).
///
/// One step is D v = dt (R(u) + H) + lower(v) from the first front to the last, which also computes
/// R(u); then, backwards, D w = upper(v), v = v + w, u = u + v / (omega (2 - omega)), which also
/// updates u. A point gives each neighbour the product of its Jacobian block with v as soon as it
/// has v; u may then change. So only u, v and H pass through memory, once per sweep.
template <int W, typename Links>
class LuSweep {
  public:
    LuSweep(LuFields& fields, const LuFactors& factors, LuShare share, Links& links)
        : fields_(fields),
          factors_(factors),
          differences_(fields.fronts, factors),
          share_(share),
          links_(links),
          gifts_(static_cast<std::size_t>((fields.fronts.period() + 2) * width())) {}

    // Without `flatten` the compiler leaves calls in the sweeps of a file that has two kinds of
    // links: that costs a fifth of the speed.
    [[gnu::flatten]] void lower() {
        sweep<1>([&](std::ptrdiff_t done) { lower_front(done); });
    }

    [[gnu::flatten]] void upper() {
        sweep<-1>([&](std::ptrdiff_t done) { upper_front(done); });
    }

    /// Stores -dt R(u) as the forcing, so that R(u) + H is 0.
    void force() {
        each_residual([&](std::ptrdiff_t front, std::ptrdiff_t block, const Five<W>& residual) {
            store_five(fields_.forcing.at(front, block), residual);
        });
    }

    /// Adds the squares of dt (R(u) + H) of each column to `sums`, [block][quantity][lane].
    void add_squares(std::span<double> sums) {
        each_residual([&](std::ptrdiff_t /*front*/, std::ptrdiff_t block, const Five<W>& residual) {
            double* const sum = sums.data() + block * kFive;
            auto total = load_five(sum);
            unroll<5>([&](auto m) { total[m] += residual[m] * residual[m]; });
            store_five(sum, total);
        });
    }

  private:
    static constexpr std::ptrdiff_t kFive = std::ptrdiff_t{5} * W;

    [[gnu::always_inline]] static Five<W> load_five(const double* source) {
        Five<W> five;
        unroll<5>([&](auto m) { five[m] = load_block<W>(source + m * W); });
        return five;
    }

    [[gnu::always_inline]] static void store_five(double* target, const Five<W>& five) {
        unroll<5>([&](auto m) { store_block<W>(target + m * W, five[m]); });
    }

    /// Number of doubles that the gifts (products for neighbours) of one front take.
    [[nodiscard]] std::ptrdiff_t width() const { return (share_.end - share_.begin) * kFive; }

    /// Gifts of the points visited last: along x and y those of one front, along z those of all
    /// fronts of a plane.
    [[nodiscard]] double* along_x() { return gifts_.data(); }
    [[nodiscard]] double* along_y() { return gifts_.data() + width(); }
    [[nodiscard]] double* along_z(std::ptrdiff_t front) {
        return gifts_.data() + (2 + front % fields_.fronts.period()) * width();
    }

    /// Sweeps this part's fronts in order: calls `per_front(n)` for each, n = fronts already swept.
    template <int Side, typename PerFront>
    void sweep(const PerFront& per_front) {
        std::memset(gifts_.data(), 0, gifts_.size() * sizeof(double));
        links_.template start<Side>();
        const auto total = fields_.fronts.end() - fields_.fronts.first();
        for (std::ptrdiff_t begin = 0; begin < total; begin += links_.chunk()) {
            const auto end = std::min(begin + links_.chunk(), total);
            links_.template await<Side>(end);
            for (auto done = begin; done < end; ++done) {
                links_.template receive_along_i<Side, W>(done, along_x());
                per_front(done);
                links_.template send_along_i<Side, W>(done, along_x());
            }
            links_.template passed<Side>(end);
        }
    }

    /// Products from the adjacent part for our outermost column, in all lanes.
    template <int Side>
    [[nodiscard]] Five<W> from_beside(std::ptrdiff_t done) const {
        Five<W> all{};
        if (const auto* const gift = links_.template incoming<Side>(done); gift != nullptr) {
            unroll<5>([&](auto m) { all[m] = (*gift)[m] + Block<W>{}; });
        }
        return all;
    }

    template <int Side>
    void to_beside(std::ptrdiff_t done, const double* outermost) {
        if (auto* const gift = links_.template outgoing<Side>(done); gift != nullptr) {
            for (std::size_t m = 0; m < gift->size(); ++m) {
                (*gift)[m] = outermost[m * W];
            }
        }
    }

    void lower_front(std::ptrdiff_t done) {
        const auto front = fields_.fronts.first() + done;
        differences_.enter(front);
        const LuFactors factors = factors_;  // a copy is known not to change as numbers are stored
        auto beside = from_beside<1>(done);
        double const* const y = along_y();
        for (auto block = share_.begin; block < share_.end; ++block) {
            const auto place = (block - share_.begin) * kFive;
            const auto old = load_five(y + place);
            Five<W> right = residual(front, block, factors);
            unroll<5>([&](auto m) { right[m] += straddle<W - 1, W>(beside[m], old[m]); });
            lower_block(front, block, right, factors);
            beside = old;
        }
        to_beside<1>(done, y + width() - kFive + W - 1);
    }

    void upper_front(std::ptrdiff_t done) {
        const auto front = fields_.fronts.end() - 1 - done;
        differences_.enter(front);
        const LuFactors factors = factors_;
        auto beside = from_beside<-1>(done);
        double const* const y = along_y();
        for (auto block = share_.end - 1; block >= share_.begin; --block) {
            const auto place = (block - share_.begin) * kFive;
            const auto old = load_five(y + place);
            Five<W> right;
            unroll<5>([&](auto m) { right[m] = straddle<1, W>(old[m], beside[m]); });
            upper_block(front, block, right, factors);
            beside = old;
        }
        to_beside<-1>(done, y);
    }

    /// Solves one block in the lower sweep. `right` holds the residual and the gifts along y.
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

    /// Solves one block in the upper sweep. `right` holds the gifts along y.
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

    /// Computes dt (R(u) + H); lanes that are not active have meaningless values.
    [[nodiscard, gnu::always_inline]] Five<W> residual(std::ptrdiff_t front, std::ptrdiff_t block,
                                                       const LuFactors& factors) const {
        const auto weights = differences_.load<W>(block * W);
        const double* const u = fields_.u.at(front, block);
        Five<W> change = load_five(fields_.forcing.at(front, block));
        unroll<5>([&](auto m) { change[m] = -change[m]; });
        add_centre(change, flow_at(u), weights.centre, factors);
        const auto stride = fields_.u.stride(block);
        const auto plane = stride * fields_.fronts.period();
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
    Links& links_;
    HugeArray<double> gifts_;
};

}  // namespace aferir::npb::AFERIR_ISA

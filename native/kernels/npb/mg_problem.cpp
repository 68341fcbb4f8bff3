#include "npb/mg_problem.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "npb/random.hpp"

namespace aferir::npb {
namespace {

constexpr std::size_t kCharges = 10;
constexpr double kMgTolerance = 1e-8;

struct Candidate {
    std::uint64_t value;
    std::size_t place;
};

/// The ten candidates that come first by `Order` of their values, which never tie: the generator's
/// period is longer than any class.
template <typename Order>
class Best {
  public:
    void offer(Candidate candidate) {
        if (best_.size() == kCharges && !before(candidate, best_.back())) {
            return;
        }
        best_.insert(std::upper_bound(best_.begin(), best_.end(), candidate, before), candidate);
        if (best_.size() > kCharges) {
            best_.pop_back();
        }
    }

    void merge(const Best& other) {
        for (const auto& candidate : other.best_) {
            offer(candidate);
        }
    }

    [[nodiscard]] std::vector<Point> points(std::size_t size) const {
        std::vector<Point> found;
        found.reserve(best_.size());
        for (const auto& [value, place] : best_) {
            found.push_back({place / (size * size), place / size % size, place % size});
        }
        return found;
    }

  private:
    static bool before(const Candidate& left, const Candidate& right) {
        return Order{}(left.value, right.value);
    }

    std::vector<Candidate> best_;
};

}  // namespace

MgProblem mg_problem(ProblemClass problem) {
    constexpr std::array kSmall{-3.0 / 8, 1.0 / 32, -1.0 / 64};
    constexpr std::array kLarge{-3.0 / 17, 1.0 / 33, -1.0 / 61};
    static constexpr std::array kProblems{MgProblem{32, 4, kSmall, 0.5307707005734e-04},
                                          MgProblem{128, 4, kSmall, 0.6467329375339e-05},
                                          MgProblem{256, 4, kSmall, 0.2433365309069e-05},
                                          MgProblem{256, 20, kLarge, 0.1800564401355e-05},
                                          MgProblem{512, 20, kLarge, 0.5706732285740e-06},
                                          MgProblem{1024, 50, kLarge, 0.1583275060440e-09}};
    return kProblems[static_cast<std::size_t>(problem)];
}

double mg_operations(const MgProblem& problem) {
    const auto edge = static_cast<double>(problem.size);
    return 58 * problem.iterations * edge * edge * edge;
}

void verify_mg(const MgProblem& problem, double norm, Outcome& outcome) {
    outcome.checks = {compare("residual norm", norm, problem.norm)};
    outcome.verified = all_within(outcome.checks, kMgTolerance);
}

Charges find_charges(std::size_t size, int threads) {
    const std::size_t plane = size * size;
    Best<std::greater<>> largest;
    Best<std::less<>> smallest;
#pragma omp parallel num_threads(threads)
    {
        Best<std::greater<>> own_largest;
        Best<std::less<>> own_smallest;
#pragma omp for nowait
        for (std::size_t first = 0; first < plane * size; first += plane) {
            auto seed = lcg_skip(314159265, first);
            for (std::size_t place = first; place < first + plane; ++place) {
                randlc(seed);
                own_largest.offer({seed, place});
                own_smallest.offer({seed, place});
            }
        }
#pragma omp critical
        {
            largest.merge(own_largest);
            smallest.merge(own_smallest);
        }
    }
    return {largest.points(size), smallest.points(size)};
}

}  // namespace aferir::npb

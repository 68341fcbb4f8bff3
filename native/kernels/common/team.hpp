#pragma once

#include <omp.h>

#include <array>
#include <cstddef>
#include <vector>

#include "common/awaited.hpp"

namespace aferir::inline AFERIR_ISA {

/// Patience of the threads of one parallel region on the processors of this process.
inline Patience patience_of(int threads) {
    return aferir::patience_of(threads, omp_get_num_procs());
}

/// What the threads of one parallel region share for barriers and sums. A thread spins at a
/// barrier, since the small grids of MG and class S of CG pass one every few microseconds; if that
/// takes long, it sleeps.
class Meeting {
  public:
    explicit Meeting(int threads)
        : sums_(static_cast<std::size_t>(threads)), patience_(patience_of(threads)) {}

    /// Returns when `threads` have called it; what they wrote before is then visible.
    void wait(int threads) { gate_.wait(threads, patience_); }

    struct alignas(64) Line {
        std::array<double, 2> value{};
    };
    [[nodiscard]] Line& line(int thread) { return sums_[static_cast<std::size_t>(thread)]; }

  private:
    Gate gate_;
    std::vector<Line> sums_;
    Patience patience_;
};

/// Number of the step that one worker has reached, for another one that follows it.
class Progress {
  public:
    void reach(int step) { step_.set(step); }

    /// Returns when `step` has been reached; earlier writes are then visible.
    void wait(int step, Patience patience) {
        int reached = step_.get();
        while (reached < step) {
            reached = step_.other_than(reached, patience);
        }
    }

  private:
    Awaited step_;
};

/// One thread of a parallel region.
class Member {
  public:
    explicit Member(Meeting& meeting)
        : meeting_(meeting), id_(omp_get_thread_num()), count_(omp_get_num_threads()) {}

    [[nodiscard]] int id() const { return id_; }
    [[nodiscard]] int count() const { return count_; }

    void wait() {
        if (count_ > 1) {
            meeting_.wait(count_);
        }
    }

    /// Sum of every thread's `value`, the same to the last bit in each thread. Also a barrier. Two
    /// sets of places are used in turn: before one is written again, all threads have read it.
    [[nodiscard]] double sum(double value) {
        if (count_ == 1) {
            return value;
        }
        meeting_.line(id_).value[place_] = value;
        meeting_.wait(count_);
        double total = 0;
        for (int thread = 0; thread < count_; ++thread) {
            total += meeting_.line(thread).value[place_];
        }
        place_ ^= 1U;
        return total;
    }

  private:
    Meeting& meeting_;
    int id_;
    int count_;
    unsigned place_ = 0;
};

}  // namespace aferir::inline AFERIR_ISA

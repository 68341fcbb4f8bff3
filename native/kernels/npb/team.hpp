#pragma once

#include <omp.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace aferir::npb::AFERIR_ISA {

/// Tells the processor that we spin.
inline void pause() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

/// How often to look for another thread before sleeping: not at all where threads outnumber
/// processors, or the one that we wait for would not run.
inline int spins(int threads) {
    constexpr int kSpins = 1500;
    return threads > omp_get_num_procs() ? 0 : kSpins;
}

/// What the threads of one parallel region share to wait for one another and to add numbers up.
/// A thread spins for a barrier, since the small grids of MG and class S of CG pass one every few
/// microseconds; it sleeps if that takes long, and at once where threads outnumber processors, or
/// the one that it waits for would not run.
class Meeting {
  public:
    explicit Meeting(int threads)
        : sums_(static_cast<std::size_t>(threads)), spins_(spins(threads)) {}

    /// Returns when `threads` have called it; what they wrote before is then visible.
    void wait(int threads) {
        const int turn = turn_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            turn_.notify_all();
            return;
        }
        for (int spin = 0; spin < spins_; ++spin) {
            if (turn_.load(std::memory_order_acquire) != turn) {
                return;
            }
            pause();
        }
        turn_.wait(turn, std::memory_order_acquire);
    }

    struct alignas(64) Line {
        std::array<double, 2> value{};
    };
    [[nodiscard]] Line& line(int thread) { return sums_[static_cast<std::size_t>(thread)]; }

  private:
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<int> turn_{0};
    std::vector<Line> sums_;
    int spins_;
};

/// How far one thread has come in a sequence of steps, for another that follows it.
class Progress {
  public:
    void reach(int step) {
        step_.store(step, std::memory_order_release);
        step_.notify_all();
    }

    /// Returns when `step` has been reached; what was written before is then visible.
    void wait(int step, int spins) const {
        int reached = step_.load(std::memory_order_acquire);
        for (int spin = 0; reached < step && spin < spins; ++spin) {
            pause();
            reached = step_.load(std::memory_order_acquire);
        }
        while (reached < step) {
            step_.wait(reached, std::memory_order_acquire);
            reached = step_.load(std::memory_order_acquire);
        }
    }

  private:
    alignas(64) std::atomic<int> step_{0};
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

    /// The sum of every thread's `value`, the same to the last bit in each. Also a barrier. Lines
    /// have two places used in turn: by the time that one is written again, all have read it.
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

}  // namespace aferir::npb::AFERIR_ISA

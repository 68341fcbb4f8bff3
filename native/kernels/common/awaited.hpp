#pragma once

#include <atomic>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace aferir {

/// How long to look for what another does before sleeping until it is done.
struct Patience {
    int spins = 0;   ///< looks without giving way
    int yields = 0;  ///< then looks after others had the processor
};

/// For `workers` on so many processors. Where there are more workers, the one that is waited for
/// may not run until others give way.
inline Patience patience_of(int workers, int processors) {
    constexpr int kSpins = 1500;
    return workers > processors ? Patience{} : Patience{kSpins, 0};
}

/// A number that others wait for: threads, or processes in whose common memory it is. (A
/// std::atomic wakes threads of its own process alone.)
class Awaited {
  public:
    /// What was written before is visible to those that see the new value.
    void set(int value) {
        value_.store(value, std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) > 0) {
            wake_all();
        }
    }

    [[nodiscard]] int get() const { return value_.load(std::memory_order_acquire); }

    /// Returns the value once it is not `old` any more.
    int other_than(int old, Patience patience) {
        for (int look = 0; look < patience.spins + patience.yields; ++look) {
            if (const int value = get(); value != old) {
                return value;
            }
            look < patience.spins ? pause() : give_way();
        }
        return sleep_while(old);
    }

  private:
    /// Tells the processor that we spin.
    static void pause() {
#if defined(__x86_64__) || defined(__i386__)
        _mm_pause();
#endif
    }
    static void give_way();
    int sleep_while(int old);
    void wake_all();

    alignas(64) std::atomic<int> value_{0};
    std::atomic<int> sleepers_{0};
};

/// A barrier, for threads or for processes in whose common memory it is; zeroed memory is one.
class Gate {
  public:
    /// Returns when `count` have called it; what they wrote before is then visible.
    void wait(int count, Patience patience) {
        const int turn = turn_.get();
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.set(turn + 1);
        } else {
            turn_.other_than(turn, patience);
        }
    }

  private:
    alignas(64) std::atomic<int> arrived_{0};
    Awaited turn_;
};

}  // namespace aferir

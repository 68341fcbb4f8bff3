#pragma once

#include <atomic>

namespace aferir {

/// How long a waiting thread polls before it sleeps.
struct Patience {
    int spins = 0;   ///< polls without yielding the processor
    int yields = 0;  ///< polls after that, each of which yields it
};

/// Patience of `workers` on so many processors. If there are more workers than processors, the
/// awaited one may not run until others yield.
inline Patience patience_of(int workers, int processors) {
    constexpr int kSpins = 1500;
    return workers > processors ? Patience{} : Patience{kSpins, 0};
}

/// A number whose change threads wait for, or processes that map its memory. (A std::atomic wakes
/// threads of its own process only.)
class Awaited {
  public:
    /// Writes before this call are visible to readers of the new value.
    void set(int value) {
        value_.store(value, std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) > 0) {
            wake_all();
        }
    }

    [[nodiscard]] int get() const { return value_.load(std::memory_order_acquire); }

    /// Waits until the value is not `old`, and returns it.
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
    /// Hints to the processor that this is a spin loop.
    static void pause() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    static void give_way();
    int sleep_while(int old);
    void wake_all();

    alignas(64) std::atomic<int> value_{0};
    std::atomic<int> sleepers_{0};
};

/// A barrier for threads, or for processes that map its memory; zeroed memory is a valid one.
class Gate {
  public:
    /// Returns when `count` callers have called it; their earlier writes are then visible.
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

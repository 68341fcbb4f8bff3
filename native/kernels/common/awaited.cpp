#include "common/awaited.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace aferir {
namespace {

static_assert(std::atomic<int>::is_always_lock_free && sizeof(std::atomic<int>) == sizeof(int));

/// Calls futex(2), without the flag for private futexes, so that other processes can wake us.
void futex(std::atomic<int>* word, int operation, int value) {
    (void)syscall(SYS_futex, reinterpret_cast<int*>(word), operation, value, nullptr, nullptr, 0);
}

}  // namespace

void Awaited::give_way() { sched_yield(); }

int Awaited::sleep_while(int old) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    int value = value_.load(std::memory_order_seq_cst);
    while (value == old) {
        futex(&value_, FUTEX_WAIT, old);
        value = value_.load(std::memory_order_seq_cst);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return value;
}

void Awaited::wake_all() { futex(&value_, FUTEX_WAKE, INT_MAX); }

}  // namespace aferir

#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "beff/definition.hpp"

namespace aferir::beff {

/// Allocator that does not initialise the elements, so that pages never written stay unwritten.
template <typename T>
struct Untouched : std::allocator<T> {
    static void construct(T* /*place*/) noexcept {}
};
using Buffer = std::vector<unsigned char, Untouched<unsigned char>>;

enum class Method : std::uint8_t { kSendrecv, kAlltoallv, kNonblocking };

/// This process in MPI_COMM_WORLD.
struct World {
    int rank = 0;
    int processes = 1;
};
World world();

/// Ranks of MPI_COMM_WORLD that one process sends to and receives from in a pattern.
struct Partners {
    int previous = 0;
    int next = 0;
    /// In a ring of two, both neighbours are the same process, and b_eff sends only one message
    /// each way, since one call of MPI_Alltoallv could not send two to a process. If true, two are
    /// sent.
    bool always_two = false;
    [[nodiscard]] int messages() const { return previous == next && !always_two ? 1 : 2; }
};

/// Sends to both neighbours and receives from both, as often as requested, and verifies the data.
class Exchange {
  public:
    /// `room_bytes`: size of each buffer. Messages pass through it from front to back, so that they
    /// come from memory. Errors: std::bad_alloc.
    Exchange(std::int64_t room_bytes, int processes);

    /// Writes the first `bytes` of the data to send. Otherwise Linux maps all unwritten pages to a
    /// single page of zeros, and sends would come from the cache.
    void touch(std::int64_t bytes);

    /// Seconds that this process takes for `loops` rounds of messages of `bytes`, after one untimed
    /// round. Collective: all processes call it with the same method, bytes and loops.
    double run(Method method, const Partners& partners, std::int64_t bytes, std::int64_t loops);

    /// False once a message has arrived with other bytes than were sent.
    [[nodiscard]] bool intact() const { return intact_; }

  private:
    struct Slots {
        std::size_t to_next = 0;
        std::size_t to_previous = 0;
    };

    Slots take(std::int64_t bytes, int messages);
    void stamp(const Slots& slots, std::size_t bytes, std::int64_t round);
    void check(const Slots& slots, std::size_t bytes, std::int64_t round, const Partners& partners);
    void once(Method method, const Partners& partners, std::int64_t bytes, std::int64_t round);
    void sendrecv(const Partners& partners, const Slots& slots, int bytes);
    void nonblocking(const Partners& partners, const Slots& slots, int bytes);
    void alltoallv(const Partners& partners, const Slots& slots, int bytes);

    Buffer sent_;
    Buffer received_;
    std::vector<int> send_counts_, receive_counts_, send_places_, receive_places_;
    std::size_t place_ = 0;
    int rank_ = 0;
    bool intact_ = true;
};

}  // namespace aferir::beff

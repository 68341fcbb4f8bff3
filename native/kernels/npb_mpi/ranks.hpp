#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/awaited.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/meeting_place.hpp"

namespace aferir::npb {

/// The processes of one MPI program. The kernels see MPI through this class and Messages only: so
/// they are compiled once for all MPIs, whose headers differ. An error of MPI ends the program, as
/// MPI's default error handler has it.
class Ranks {
  public:
    /// MPI_Init and MPI_Finalize.
    Ranks();
    ~Ranks();
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;
    Ranks(Ranks&&) = delete;
    Ranks& operator=(Ranks&&) = delete;

    [[nodiscard]] int id() const { return id_; }
    [[nodiscard]] int count() const { return count_; }

    /// A clock in seconds (MPI_Wtime).
    [[nodiscard]] static double seconds();

    /// Returns when all have called it.
    void wait() const;

    /// Lets up to `most` ranks of a host, neighbours in order, share memory; called once by all.
    /// Without it, or with 1, every rank is a host of its own; so it is where they may not map each
    /// other's memory.
    void share_memory(int most);
    [[nodiscard]] const Hosts& hosts() const { return hosts_; }

    /// Whether all ranks, more than one, share memory.
    [[nodiscard]] bool share_all() const { return meeting_.has_value(); }

    /// Returns when all ranks of this host have called it; what they wrote into shared memory
    /// before is then visible.
    void wait_for_mates() const;

    /// How long to look for what a mate does before sleeping.
    [[nodiscard]] Patience patience() const { return patience_; }

    /// Sums over all ranks, the same to the last bit in each.
    [[nodiscard]] double sum(double value) const;
    void sum(std::span<double> values) const;
    void sum(std::span<std::int64_t> values) const;

    [[nodiscard]] double largest(double value) const;

    /// `all` gets `part` of rank 0, 1, ..., all of one size.
    template <typename T>
    void gather(std::span<const T> part, std::span<T> all) const {
        gather_bytes(part.data(), all.data(), part.size_bytes());
    }

    /// Errors: OutOfMemory, in all ranks of a machine alike, if it does not have what they need
    /// together: each rank `own` bytes, and those that share memory `common` bytes once.
    void require_memory(std::size_t own, std::size_t common) const;

    /// Ends the program on all ranks.
    [[noreturn]] static void abort(int exit_code);

    /// `value` of each rank of this host, in order.
    template <typename T>
    [[nodiscard]] std::vector<T> gather_from_mates(const T& value) const {
        std::vector<T> all(hosts_.mates().size());
        gather_bytes_from_mates(&value, all.data(), sizeof(T));
        return all;
    }

  private:
    struct Communicator;

    static void gather_bytes(const void* part, void* all, std::size_t bytes);
    void gather_bytes_from_mates(const void* part, void* all, std::size_t bytes) const;
    /// Those that can map each other's memory, up to `most` of a host; returns the first one's id.
    int join_mates(int most);

    int id_ = 0;
    int count_ = 1;
    Hosts hosts_;
    Patience patience_;
    std::unique_ptr<Communicator> mates_;
    /// If all ranks are mates. Otherwise they wait in MPI, which moves messages on meanwhile:
    /// another host may need those to get as far as we are waiting for.
    std::optional<MeetingPlace> meeting_;
};

/// Messages under way. Between two ranks, those of one tag are matched in the order in which they
/// were posted; what they point to stays untouched until wait().
class Messages {
  public:
    Messages();
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;
    Messages(Messages&&) noexcept;
    Messages& operator=(Messages&&) noexcept;

    template <typename T>
    void send(int to, std::span<const T> values, int tag = 0) {
        send_bytes(to, values.data(), values.size_bytes(), tag);
    }

    /// `values` may be larger than what comes.
    template <typename T>
    void receive(int from, std::span<T> values, int tag = 0) {
        receive_bytes(from, values.data(), values.size_bytes(), tag);
    }

    /// Returns when all have arrived or been taken over.
    void wait();

    /// Lets them move on, without waiting.
    void progress();

  private:
    void send_bytes(int to, const void* data, std::size_t bytes, int tag);
    void receive_bytes(int from, void* data, std::size_t bytes, int tag);

    struct Requests;
    std::unique_ptr<Requests> requests_;
};

}  // namespace aferir::npb

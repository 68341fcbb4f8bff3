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

/// The processes of one MPI program. The kernels access MPI only through this class and Messages,
/// so that they are compiled once for all MPIs, whose headers differ. An error of MPI ends the
/// program, by MPI's default error handler.
class Ranks {
  public:
    /// Calls MPI_Init; the destructor calls MPI_Finalize (see finalize_ranks).
    Ranks();
    ~Ranks();
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;
    Ranks(Ranks&&) = delete;
    Ranks& operator=(Ranks&&) = delete;

    /// Notes the exit code of the program, and returns it.
    int exiting_with(int code) { return exit_code_ = code; }

    [[nodiscard]] int id() const { return id_; }
    [[nodiscard]] int count() const { return count_; }

    /// A clock in seconds (MPI_Wtime).
    [[nodiscard]] static double seconds();

    /// Barrier of all ranks.
    void wait() const;

    /// Lets up to `most` ranks of a host, neighbours in order, share memory; all ranks call it
    /// once. Without it, with 1, or if they may not map each other's memory, every rank is a host
    /// of its own.
    void share_memory(int most);
    [[nodiscard]] const Hosts& hosts() const { return hosts_; }

    /// Whether there are several ranks and all of them share memory.
    [[nodiscard]] bool share_all() const { return meeting_.has_value(); }

    /// Returns when all ranks of this host have called it; their earlier writes into shared memory
    /// are then visible.
    void wait_for_mates() const;

    /// How long to poll for another rank of this host before sleeping.
    [[nodiscard]] Patience patience() const { return patience_; }

    /// Sums over all ranks, the same to the last bit in each.
    [[nodiscard]] double sum(double value) const;
    void sum(std::span<double> values) const;
    void sum(std::span<std::int64_t> values) const;

    [[nodiscard]] double largest(double value) const;

    /// Gathers into `all` the `part` of every rank, in order of rank; all parts have the same size.
    template <typename T>
    void gather(std::span<const T> part, std::span<T> all) const {
        gather_bytes(part.data(), all.data(), part.size_bytes());
    }

    /// Errors: OutOfMemory, in all ranks of a machine, if it lacks the memory that they need
    /// together: each rank `own` bytes, and those that share memory `common` bytes once.
    void require_memory(std::size_t own, std::size_t common) const;

    /// Ends the program on all ranks.
    [[noreturn]] static void abort(int exit_code);

    /// The `value` that each rank of this host passes, in order of rank.
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
    /// Groups up to `most` ranks of a host that can map each other's memory; returns the ID of the
    /// first one.
    int join_mates(int most);

    int id_ = 0;
    int exit_code_ = 0;
    int count_ = 1;
    Hosts hosts_;
    Patience patience_;
    std::unique_ptr<Communicator> mates_;
    /// Set if all ranks share memory. Otherwise they wait in MPI, which makes progress on messages:
    /// other hosts may need these before they can get here.
    std::optional<MeetingPlace> meeting_;
};

/// Messages in transit. Between two ranks, those with the same tag are matched in the order in
/// which they were posted; their memory must not be touched until wait().
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

    /// Receives into `values`, which may have more room than needed.
    template <typename T>
    void receive(int from, std::span<T> values, int tag = 0) {
        receive_bytes(from, values.data(), values.size_bytes(), tag);
    }

    /// Returns when all messages have been received, or buffered for sending.
    void wait();

    /// Lets messages make progress, without waiting.
    void progress();

  private:
    void send_bytes(int to, const void* data, std::size_t bytes, int tag);
    void receive_bytes(int from, void* data, std::size_t bytes, int tag);

    struct Requests;
    std::unique_ptr<Requests> requests_;
};

}  // namespace aferir::npb

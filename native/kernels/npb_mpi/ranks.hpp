#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb_mpi/decomposition.hpp"

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
    /// Without it, or with 1, every rank is a host of its own.
    void share_memory(int most);
    [[nodiscard]] const Hosts& hosts() const { return hosts_; }

    /// Returns when all ranks of this host have called it; what they wrote into shared memory
    /// before is then visible.
    void wait_for_mates() const;

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

    /// Ends the program on all ranks.
    [[noreturn]] static void abort(int exit_code);

  private:
    friend class SharedBytes;
    struct Communicator;

    static void gather_bytes(const void* part, void* all, std::size_t bytes);

    int id_ = 0;
    int count_ = 1;
    Hosts hosts_;
    std::unique_ptr<Communicator> mates_;
};

/// Memory of every rank of a host that all of them read and write (an MPI shared-memory window),
/// zeroed. Made and destroyed by all of them together. Alone, a rank has memory of its own.
class SharedBytes {
  public:
    /// `bytes` of this rank. Errors: OutOfMemory, in all ranks of the host, if one cannot have its
    /// bytes.
    SharedBytes(const Ranks& ranks, std::size_t bytes);
    ~SharedBytes();
    SharedBytes(const SharedBytes&) = delete;
    SharedBytes& operator=(const SharedBytes&) = delete;
    SharedBytes(SharedBytes&&) noexcept;
    SharedBytes& operator=(SharedBytes&&) noexcept;

    /// Of the mate at `place`, aligned to 64 bytes.
    [[nodiscard]] void* of(std::size_t place) const { return parts_[place]; }

  private:
    struct Window;
    std::vector<void*> parts_;
    std::optional<HugeMapping> own_;
    std::unique_ptr<Window> window_;
};

/// Numbers of every rank of a host.
template <typename T>
class SharedArray {
  public:
    SharedArray(const Ranks& ranks, std::size_t size) : bytes_(ranks, size * sizeof(T)) {}

    [[nodiscard]] T* of(std::size_t place) const { return static_cast<T*>(bytes_.of(place)); }

  private:
    SharedBytes bytes_;
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

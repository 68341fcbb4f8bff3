#include "npb_mpi/ranks.hpp"

// Leaves out the C++ bindings, which these headers still contain although MPI 3.0 removed them.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/mpi_abort.hpp"
#include "common/mpi_finalize.hpp"
#include "common/shared_memory.hpp"
#include "npb_mpi/host_memory.hpp"

namespace aferir::npb {
namespace {

int as_count(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw std::length_error("a message of more than 2 GiB");
    }
    return static_cast<int>(size);
}

/// Number of processors on which the ranks may run together.
int processors_of(MPI_Comm comm) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return std::numeric_limits<int>::max();  // more than there is room for here
    }
    MPI_Allreduce(MPI_IN_PLACE, &allowed, sizeof allowed, MPI_BYTE, MPI_BOR, comm);
    return CPU_COUNT(&allowed);
}

}  // namespace

struct Ranks::Communicator {
    MPI_Comm handle = MPI_COMM_SELF;
};

Ranks::Ranks() : mates_(std::make_unique<Communicator>()) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &id_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    share_memory(1);
}

Ranks::~Ranks() {
    if (mates_->handle != MPI_COMM_SELF) {
        MPI_Comm_free(&mates_->handle);
    }
    finalize_ranks(exit_code_);
}

void Ranks::share_memory(int most) {
    std::vector<int> leaders(static_cast<std::size_t>(count_));
    std::iota(leaders.begin(), leaders.end(), 0);
    if (most > 1 && count_ > 1) {
        const int leader = join_mates(most);
        gather(std::span<const int>(&leader, 1), std::span(leaders));
    }
    hosts_ = hosts_by_leader(leaders, id_);
    const auto mates = static_cast<int>(hosts_.mates().size());
    if (mates > 1) {
        patience_ = patience_of(mates, processors_of(mates_->handle));
    }
    if (mates == count_ && count_ > 1) {
        const auto all = static_cast<std::size_t>(count_);
        meeting_.emplace(common_array<std::byte>(*this, MeetingPlace::bytes_for(all)), all,
                         hosts_.place, patience_);
    }
}

int Ranks::join_mates(int most) {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, id_, MPI_INFO_NULL, &host);
    int place = 0;
    MPI_Comm_rank(host, &place);
    MPI_Comm_split(host, place / most, id_, &mates_->handle);
    MPI_Comm_free(&host);

    const SharedFile trial(kHugePage);
    struct {
        SharedFile::Address address;
        int rank;
    } leader{trial.address(), id_};
    MPI_Bcast(&leader, sizeof leader, MPI_BYTE, 0, mates_->handle);
    int found = SharedFile::open(leader.address) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MIN, mates_->handle);
    if (found == 0) {
        MPI_Comm_free(&mates_->handle);
        mates_->handle = MPI_COMM_SELF;
        return id_;
    }
    return leader.rank;
}

void Ranks::gather_bytes_from_mates(const void* part, void* all, std::size_t bytes) const {
    const int size = as_count(bytes);
    MPI_Allgather(part, size, MPI_BYTE, all, size, MPI_BYTE, mates_->handle);
}

void Ranks::wait_for_mates() const {
    if (meeting_) {
        wait();
    } else if (hosts_.mates().size() > 1) {
        // A barrier of MPI does not promise an order of plain loads and stores; the fence does.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        MPI_Barrier(mates_->handle);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
}

double Ranks::seconds() { return MPI_Wtime(); }

void Ranks::wait() const {
    if (meeting_) {
        meeting_->wait();
    } else if (count_ > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

double Ranks::sum(double value) const {
    sum(std::span(&value, 1));
    return value;
}

void Ranks::sum(std::span<double> values) const {
    if (meeting_ && values.size() <= MeetingPlace::kMost) {
        meeting_->sum(values);
    } else if (count_ > 1) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), as_count(values.size()), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}

void Ranks::sum(std::span<std::int64_t> values) const {
    if (count_ > 1) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), as_count(values.size()), MPI_INT64_T, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}

double Ranks::largest(double value) const {
    if (count_ > 1) {
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    return value;
}

void Ranks::require_memory(std::size_t own, std::size_t common) const {
    static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
    // Read before the sum, and so before any rank can have allocated its part.
    std::uint64_t available = available_memory_bytes();
    std::uint64_t needed = own + (hosts_.place == 0 ? common : 0);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, id_, MPI_INFO_NULL, &machine);
    MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_UINT64_T, MPI_SUM, machine);
    MPI_Allreduce(MPI_IN_PLACE, &available, 1, MPI_UINT64_T, MPI_MIN, machine);
    MPI_Comm_free(&machine);
    aferir::require_memory(needed, available);
}

void Ranks::gather_bytes(const void* part, void* all, std::size_t bytes) {
    const int size = as_count(bytes);
    MPI_Allgather(part, size, MPI_BYTE, all, size, MPI_BYTE, MPI_COMM_WORLD);
}

void Ranks::abort(int exit_code) { aferir::abort_ranks(exit_code); }

struct Messages::Requests {
    std::vector<MPI_Request> all;
};

Messages::Messages() : requests_(std::make_unique<Requests>()) {}
Messages::~Messages() = default;
Messages::Messages(Messages&&) noexcept = default;
Messages& Messages::operator=(Messages&&) noexcept = default;

void Messages::send_bytes(int to, const void* data, std::size_t bytes, int tag) {
    MPI_Isend(data, as_count(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD,
              &requests_->all.emplace_back());
}

void Messages::receive_bytes(int from, void* data, std::size_t bytes, int tag) {
    MPI_Irecv(data, as_count(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD,
              &requests_->all.emplace_back());
}

void Messages::wait() {
    auto& all = requests_->all;
    if (!all.empty()) {
        MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
        all.clear();
    }
}

void Messages::progress() {
    auto& all = requests_->all;
    int done = 0;
    if (!all.empty()) {
        MPI_Testall(static_cast<int>(all.size()), all.data(), &done, MPI_STATUSES_IGNORE);
    }
    if (done != 0) {
        all.clear();
    }
}

}  // namespace aferir::npb

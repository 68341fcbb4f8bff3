#include "npb_mpi/ranks.hpp"

// The C++ bindings, withdrawn from the standard in MPI 3.0, come with these headers still.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/memory.hpp"

namespace aferir::npb {
namespace {

int as_count(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw std::length_error("a message of more than 2 GiB");
    }
    return static_cast<int>(size);
}

constexpr std::size_t kLine = 64;

/// Takes the pages now: a later touch of what the file system for shared memory cannot give would
/// end the program with SIGBUS. Kernels before 5.14 cannot tell.
bool populate(void* data, std::size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
    constexpr std::uintptr_t kPage = 4096;
    const auto into_page = reinterpret_cast<std::uintptr_t>(data) % kPage;
    auto* const page = static_cast<std::byte*>(data) - into_page;
    return madvise(page, bytes + into_page, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
#else
    return data != nullptr || bytes == 0;
#endif
}

bool allocate(MPI_Comm comm, std::size_t bytes, void** data, MPI_Win& window) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each rank's pages near it
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, info, comm,
                                             static_cast<void*>(data), &window);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Info_free(&info);
    return code == MPI_SUCCESS;
}

/// Where a rank's part of a window begins, rounded up to a cache line.
void* part_of(MPI_Win window, int place) {
    MPI_Aint size = 0;
    int unit = 0;
    std::byte* data = nullptr;
    MPI_Win_shared_query(window, place, &size, &unit, static_cast<void*>(&data));
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    return data + ((address + kLine - 1) / kLine * kLine - address);
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
    MPI_Finalize();
}

void Ranks::share_memory(int most) {
    std::vector<int> leaders(static_cast<std::size_t>(count_));
    std::iota(leaders.begin(), leaders.end(), 0);
    if (most > 1 && count_ > 1) {
        MPI_Comm host = MPI_COMM_NULL;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, id_, MPI_INFO_NULL, &host);
        int place = 0;
        MPI_Comm_rank(host, &place);
        MPI_Comm_split(host, place / most, id_, &mates_->handle);
        MPI_Comm_free(&host);
        int leader = id_;
        MPI_Bcast(&leader, 1, MPI_INT, 0, mates_->handle);
        gather(std::span<const int>(&leader, 1), std::span(leaders));
    }
    hosts_ = hosts_by_leader(leaders, id_);
}

void Ranks::wait_for_mates() const {
    if (hosts_.mates().size() > 1) {
        // MPI promises no order of plain loads and stores.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        MPI_Barrier(mates_->handle);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
}

double Ranks::seconds() { return MPI_Wtime(); }

void Ranks::wait() const {
    if (count_ > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

double Ranks::sum(double value) const {
    sum(std::span(&value, 1));
    return value;
}

void Ranks::sum(std::span<double> values) const {
    if (count_ > 1) {
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

void Ranks::gather_bytes(const void* part, void* all, std::size_t bytes) {
    const int size = as_count(bytes);
    MPI_Allgather(part, size, MPI_BYTE, all, size, MPI_BYTE, MPI_COMM_WORLD);
}

void Ranks::abort(int exit_code) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();
}

struct SharedBytes::Window {
    explicit Window(MPI_Win made) : handle(made) { MPI_Win_lock_all(MPI_MODE_NOCHECK, handle); }
    ~Window() {
        MPI_Win_unlock_all(handle);
        MPI_Win_free(&handle);
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    Window(Window&&) = delete;
    Window& operator=(Window&&) = delete;

    MPI_Win handle;
};

SharedBytes::SharedBytes(const Ranks& ranks, std::size_t bytes) {
    const auto mates = ranks.hosts().mates().size();
    if (mates == 1) {
        parts_.push_back(own_.emplace(bytes).data());
        return;
    }
    const MPI_Comm comm = ranks.mates_->handle;
    MPI_Win window = MPI_WIN_NULL;
    void* own = nullptr;
    const auto size = bytes + kLine;
    const bool made = allocate(comm, size, &own, window);
    int all = made && populate(own, size) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
    if (all == 0) {
        throw OutOfMemory("cannot share " + std::to_string(bytes) +
                          " bytes with the other ranks of this host; enlarge /dev/shm or pass "
                          "--share-among 1");
    }
    window_ = std::make_unique<Window>(window);
    for (std::size_t place = 0; place < mates; ++place) {
        parts_.push_back(part_of(window, static_cast<int>(place)));
    }
}

SharedBytes::~SharedBytes() = default;
SharedBytes::SharedBytes(SharedBytes&&) noexcept = default;
SharedBytes& SharedBytes::operator=(SharedBytes&&) noexcept = default;

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

#include "npb_mpi/ranks.hpp"

// The C++ bindings, withdrawn from the standard in MPI 3.0, come with these headers still.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace aferir::npb {
namespace {

int as_count(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw std::length_error("a message of more than 2 GiB");
    }
    return static_cast<int>(size);
}

}  // namespace

Ranks::Ranks() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &id_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
}

Ranks::~Ranks() { MPI_Finalize(); }

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

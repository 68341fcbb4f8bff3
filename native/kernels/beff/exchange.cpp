#include "beff/exchange.hpp"

#include <algorithm>
#include <array>

namespace aferir::beff {
namespace {

constexpr int kToNext = 1;
constexpr int kToPrevious = 2;

// Value of the first and of the last byte of a message, which may be the same byte.
unsigned char mark(int from, std::int64_t round, int direction) {
    return static_cast<unsigned char>(31 * from + 7 * static_cast<int>(round & 0xffff) + direction);
}

}  // namespace

World world() {
    World here;
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.processes);
    return here;
}

Exchange::Exchange(std::int64_t room_bytes, int processes)
    : sent_(static_cast<std::size_t>(room_bytes)),
      received_(static_cast<std::size_t>(room_bytes)),
      send_counts_(static_cast<std::size_t>(processes)),
      receive_counts_(send_counts_),
      send_places_(send_counts_),
      receive_places_(send_counts_),
      rank_(world().rank) {}

void Exchange::touch(std::int64_t bytes) {
    std::fill_n(sent_.data(), bytes, static_cast<unsigned char>(1));
}

Exchange::Slots Exchange::take(std::int64_t bytes, int messages) {
    const auto step = (static_cast<std::size_t>(bytes) + 7) / 8 * 8;
    if (place_ + step * static_cast<std::size_t>(messages) > sent_.size()) {
        place_ = 0;
    }
    const Slots slots{place_, messages == 1 ? place_ : place_ + step};
    place_ += step * static_cast<std::size_t>(messages);
    return slots;
}

void Exchange::stamp(const Slots& slots, std::size_t bytes, std::int64_t round) {
    sent_[slots.to_next] = sent_[slots.to_next + bytes - 1] = mark(rank_, round, kToNext);
    if (slots.to_previous != slots.to_next) {
        sent_[slots.to_previous] = sent_[slots.to_previous + bytes - 1] =
            mark(rank_, round, kToPrevious);
    }
}

void Exchange::check(const Slots& slots, std::size_t bytes, std::int64_t round,
                     const Partners& partners) {
    const unsigned char forward = mark(partners.previous, round, kToNext);
    intact_ = intact_ && received_[slots.to_next] == forward &&
              received_[slots.to_next + bytes - 1] == forward;
    if (slots.to_previous != slots.to_next) {
        const unsigned char backward = mark(partners.next, round, kToPrevious);
        intact_ = intact_ && received_[slots.to_previous] == backward &&
                  received_[slots.to_previous + bytes - 1] == backward;
    }
}

void Exchange::sendrecv(const Partners& partners, const Slots& slots, int bytes) {
    MPI_Sendrecv(&sent_[slots.to_next], bytes, MPI_BYTE, partners.next, kToNext,
                 &received_[slots.to_next], bytes, MPI_BYTE, partners.previous, kToNext,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (partners.messages() == 2) {
        MPI_Sendrecv(&sent_[slots.to_previous], bytes, MPI_BYTE, partners.previous, kToPrevious,
                     &received_[slots.to_previous], bytes, MPI_BYTE, partners.next, kToPrevious,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

void Exchange::nonblocking(const Partners& partners, const Slots& slots, int bytes) {
    std::array<MPI_Request, 4> requests{};
    int count = 0;
    const auto request = [&] { return &requests[static_cast<std::size_t>(count++)]; };
    MPI_Irecv(&received_[slots.to_next], bytes, MPI_BYTE, partners.previous, kToNext,
              MPI_COMM_WORLD, request());
    if (partners.messages() == 2) {
        MPI_Irecv(&received_[slots.to_previous], bytes, MPI_BYTE, partners.next, kToPrevious,
                  MPI_COMM_WORLD, request());
    }
    MPI_Isend(&sent_[slots.to_next], bytes, MPI_BYTE, partners.next, kToNext, MPI_COMM_WORLD,
              request());
    if (partners.messages() == 2) {
        MPI_Isend(&sent_[slots.to_previous], bytes, MPI_BYTE, partners.previous, kToPrevious,
                  MPI_COMM_WORLD, request());
    }
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
}

void Exchange::alltoallv(const Partners& partners, const Slots& slots, int bytes) {
    const auto next = static_cast<std::size_t>(partners.next);
    const auto previous = static_cast<std::size_t>(partners.previous);
    send_counts_[next] = receive_counts_[previous] = bytes;
    send_counts_[previous] = receive_counts_[next] = bytes;
    send_places_[previous] = static_cast<int>(slots.to_previous);
    send_places_[next] = static_cast<int>(slots.to_next);
    receive_places_[next] = static_cast<int>(slots.to_previous);
    receive_places_[previous] = static_cast<int>(slots.to_next);
    MPI_Alltoallv(sent_.data(), send_counts_.data(), send_places_.data(), MPI_BYTE,
                  received_.data(), receive_counts_.data(), receive_places_.data(), MPI_BYTE,
                  MPI_COMM_WORLD);
    send_counts_[next] = receive_counts_[previous] = 0;
    send_counts_[previous] = receive_counts_[next] = 0;
}

void Exchange::once(Method method, const Partners& partners, std::int64_t bytes,
                    std::int64_t round) {
    const Slots slots = take(bytes, partners.messages());
    const auto length = static_cast<std::size_t>(bytes);
    stamp(slots, length, round);
    switch (method) {
        case Method::kSendrecv:
            sendrecv(partners, slots, static_cast<int>(bytes));
            break;
        case Method::kAlltoallv:
            alltoallv(partners, slots, static_cast<int>(bytes));
            break;
        case Method::kNonblocking:
            nonblocking(partners, slots, static_cast<int>(bytes));
            break;
    }
    check(slots, length, round, partners);
}

double Exchange::run(Method method, const Partners& partners, std::int64_t bytes,
                     std::int64_t loops) {
    MPI_Barrier(MPI_COMM_WORLD);
    once(method, partners, bytes, loops);
    const double start = MPI_Wtime();
    for (std::int64_t round = 0; round < loops; ++round) {
        once(method, partners, bytes, round);
    }
    return MPI_Wtime() - start;
}

}  // namespace aferir::beff

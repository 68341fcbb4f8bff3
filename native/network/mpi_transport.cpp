#include "network/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "common/arguments.hpp"
#include "network/rounds.hpp"

namespace aferir::network {
namespace {

constexpr int kTag = 1;
constexpr std::uint64_t kEnd = 255;  // no mode

/// Messages between two ranks; errors end the job (MPI_ERRORS_ARE_FATAL).
class MpiLine {
  public:
    explicit MpiLine(int partner) : partner_(partner) {}

    void send(std::span<const std::byte> bytes) const {
        MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, partner_, kTag,
                 MPI_COMM_WORLD);
    }
    void receive(std::span<std::byte> bytes) const {
        MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, partner_, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    void exchange(std::span<const std::byte> out, std::span<std::byte> in) const {
        MPI_Request posted = MPI_REQUEST_NULL;
        if (!in.empty()) {
            MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, partner_, kTag,
                      MPI_COMM_WORLD, &posted);
        }
        if (!out.empty()) {
            send(out);
        }
        MPI_Wait(&posted, MPI_STATUS_IGNORE);
    }

  private:
    int partner_;
};

/// Nanoseconds of MPI_Wtime, where it is one time for all ranks.
struct WtimeClock {
    std::uint64_t operator()() const { return static_cast<std::uint64_t>(MPI_Wtime() * 1e9); }
};

using Command = std::array<std::uint64_t, 5>;

Command command_of(const Trial& trial) {
    return {static_cast<std::uint64_t>(trial.mode), trial.bytes, trial.rounds, trial.seed,
            static_cast<std::uint64_t>(trial.stamped ? 1 : 0)};
}

void broadcast(Command& command) {
    MPI_Bcast(command.data(), static_cast<int>(command.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

int rank_of_this() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

bool same_everywhere(std::uint64_t value) {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    MPI_Allreduce(&value, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&value, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

void require_ranks(std::uint64_t pairs) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (static_cast<std::uint64_t>(ranks) != 2 * pairs) {
        throw UsageError("--pairs " + std::to_string(pairs) + " needs " +
                         std::to_string(2 * pairs) + " ranks and there are " +
                         std::to_string(ranks) + "; start it with mpirun -n " +
                         std::to_string(2 * pairs));
    }
}

}  // namespace

MpiTransport::MpiTransport(std::uint64_t pairs, std::uint64_t most_bytes, bool one_way)
    : rank_(rank_of_this()), pairs_(static_cast<int>(pairs)), buffers_(most_bytes) {
    require_ranks(pairs);
    partner_ = measures() ? rank_ + pairs_ : rank_ - pairs_;
    MPI_Comm_split(MPI_COMM_WORLD, measures() ? 0 : MPI_UNDEFINED, rank_, &measuring_);
    clock_ = one_way ? find_clock() : Shared::kNone;
}

MpiTransport::~MpiTransport() {
    if (rank_ == 0) {
        Command end{kEnd};
        broadcast(end);
    }
    if (measuring_ != MPI_COMM_NULL) {
        MPI_Comm_free(&measuring_);
    }
}

MpiTransport::Shared MpiTransport::find_clock() const {
    const bool trusted = same_everywhere(timeline_.counter_trusted() ? 1 : 0);
    const auto host = host_identity();
    if (same_everywhere(host) && trusted && timeline_.counter_trusted() && host != 0) {
        return Shared::kCounter;
    }
    int* global = nullptr;
    int known = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, static_cast<void*>(&global), &known);
    return known != 0 && *global != 0 ? Shared::kWtime : Shared::kNone;
}

std::string_view MpiTransport::clock() const {
    constexpr std::array<std::string_view, 3> kWords{"none", "counter", "mpi_wtime"};
    return kWords.at(static_cast<std::size_t>(clock_));
}

TrialResult MpiTransport::run(const Trial& trial) {
    auto command = command_of(trial);
    broadcast(command);
    return take_part(trial);
}

std::optional<Delays> MpiTransport::run_stamped(const Trial& trial) {
    if (clock_ == Shared::kNone) {
        return std::nullopt;
    }
    auto command = command_of(trial);
    broadcast(command);
    return delays_of(take_part_stamped(trial));
}

void MpiTransport::follow() {
    for (;;) {
        Command command{};
        broadcast(command);
        if (command[0] == kEnd) {
            return;
        }
        const Trial trial{static_cast<Mode>(command[0]), command[1], command[2], command[3],
                          command[4] != 0};
        if (trial.stamped) {
            take_part_stamped(trial);
        } else {
            take_part(trial);
        }
    }
}

TrialResult MpiTransport::take_part(const Trial& trial) {
    MpiLine line(partner_);
    Histogram rounds;
    double seconds = 0;
    buffers_.prepare(trial, measures() ? End::kInitiator : End::kResponder);
    MPI_Barrier(MPI_COMM_WORLD);
    if (measures()) {
        Timeline::Reader reader(timeline_);
        seconds = static_cast<double>(initiate(line, buffers_, trial, reader, rounds)) * 1e-9;
    } else {
        respond(line, buffers_, trial);
    }
    check(trial);
    return measures() ? collect(seconds, rounds) : TrialResult{};
}

TrialResult MpiTransport::collect(double seconds, const Histogram& rounds) const {
    TrialResult result;
    MPI_Reduce(&seconds, &result.mean_s, 1, MPI_DOUBLE, MPI_SUM, 0, measuring_);
    MPI_Reduce(&seconds, &result.longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, measuring_);
    result.mean_s /= pairs_;
    std::vector<std::uint64_t> sums(Histogram::kBuckets);
    MPI_Reduce(rounds.counts().data(), sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T,
               MPI_SUM, 0, measuring_);
    result.rounds.merge(sums);
    return result;
}

template <typename C>
Stamps MpiTransport::stamp(const Trial& trial, C& clock) {
    MpiLine line(partner_);
    Stamps stamps;
    if (measures()) {
        initiate_stamped(line, buffers_, trial, clock, stamps);
    } else {
        respond_stamped(line, buffers_, trial, clock, stamps);
    }
    return stamps;
}

Stamps MpiTransport::take_part_stamped(const Trial& trial) {
    buffers_.prepare(trial, measures() ? End::kInitiator : End::kResponder);
    MPI_Barrier(MPI_COMM_WORLD);
    Timeline::Ticks ticks;
    WtimeClock wtime;
    Stamps stamps = clock_ == Shared::kCounter ? stamp(trial, ticks) : stamp(trial, wtime);
    check(trial);
    const auto count = static_cast<int>(trial.rounds);
    if (rank_ == 0) {
        for (auto* times : {&stamps.arrived, &stamps.answered}) {
            times->resize(trial.rounds);
            MPI_Recv(times->data(), count, MPI_UINT64_T, partner_, kTag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    } else if (partner_ == 0) {
        for (const auto* times : {&stamps.arrived, &stamps.answered}) {
            MPI_Send(times->data(), count, MPI_UINT64_T, 0, kTag, MPI_COMM_WORLD);
        }
    }
    return stamps;
}

// Rank 0 throws an error that any rank has found; the others continue, and are told of the end.
void MpiTransport::check(const Trial& trial) const {
    struct {
        long place;
        int rank;
    } own{0, rank_}, worst{0, 0};
    if (const auto at = buffers_.wrong(trial, measures() ? End::kInitiator : End::kResponder)) {
        own.place = static_cast<long>(*at) + 1;
    }
    MPI_Allreduce(&own, &worst, 1, MPI_LONG_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (worst.place > 0 && rank_ == 0) {
        throw CorruptData(corruption(trial, static_cast<std::size_t>(worst.place - 1),
                                     "rank " + std::to_string(worst.rank)));
    }
}

Delays MpiTransport::delays_of(const Stamps& stamps) const {
    Delays delays;
    const auto seconds = [&](std::uint64_t first, std::uint64_t second) {
        if (clock_ == Shared::kCounter) {
            return timeline_.seconds_between(first, second);
        }
        return static_cast<double>(static_cast<std::int64_t>(second - first)) * 1e-9;
    };
    for (std::size_t i = 0; i < stamps.sent.size(); ++i) {
        delays.there_s.push_back(seconds(stamps.sent[i], stamps.arrived[i]));
        delays.back_s.push_back(seconds(stamps.answered[i], stamps.returned[i]));
    }
    return delays;
}

}  // namespace aferir::network

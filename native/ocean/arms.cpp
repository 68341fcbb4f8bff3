#include "ocean/arms.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>

namespace aferir::ocean {
namespace {

constexpr double kOscillator = 30e-6;    ///< error of a node's rate, one node fast, the next slow
constexpr double kFirstOffset = 500e-6;  ///< s; half of a correction of Dutra 2015, Table A.1
constexpr double kNarrow = 1e-6;         ///< s; a stamp that took longer was interrupted

std::vector<double> largest_of_all(std::vector<double> values, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  comm);
    return values;
}

double system_seconds() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double total_of_all(double value, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
    return value;
}

}  // namespace

const char* name_of(Arm arm) {
    constexpr std::array<const char*, kArms> kNames{"rgap", "control", "ntp-like", "noise"};
    return kNames[static_cast<std::size_t>(arm)];
}

// The arms form a circle. Each round starts with the next one, and every second round goes
// backwards, so that in eight rounds every arm is before and after every other one equally often.
std::vector<Arm> order_of(int round) {
    std::vector<Arm> order;
    order.reserve(kArms);
    for (int i = 0; i < kArms; ++i) {
        order.push_back(static_cast<Arm>((i + round) % kArms));
    }
    if (round % 2 != 0) {
        std::reverse(order.begin(), order.end());
    }
    return order;
}

Arms::Arms(Messages& messages, Model& model, const Disturbances& disturbances)
    : messages_(messages),
      model_(model),
      disturbances_(disturbances),
      places_(find_places(messages.comm(), disturbances.nodes)) {
    if (disturbances_.helper.empty()) {  // each host has its own folder of programs
        const auto self = std::filesystem::read_symlink("/proc/self/exe");
        disturbances_.helper = self.parent_path() / "ocean-helper";
    }
    MPI_Comm_split(messages.comm(), places_.group, 0, &node_);
    int place = 0;
    MPI_Comm_rank(node_, &place);
    leads_ = place == 0;
    const double sign = places_.odd ? -1 : 1;
    if (leads_) {
        clock_ = std::make_unique<SharedClock>(raw_seconds(), sign * kFirstOffset - places_.ahead_s,
                                               sign * kOscillator);
    }
    std::array<int, 2> where{leads_ ? getpid() : 0, leads_ ? clock_->descriptor() : 0};
    MPI_Bcast(where.data(), 2, MPI_INT, 0, node_);
    if (!leads_) {
        clock_ = std::make_unique<SharedClock>(where[0], where[1]);
    }
    MPI_Barrier(node_);
}

Arms::~Arms() { MPI_Comm_free(&node_); }

bool Arms::steers() const {
    return disturbances_.chronyd && places_.leads_host && places_.host != 0 && places_.own_kernel;
}

int Arms::steered() const {
    return static_cast<int>(total_of_all(steers() ? 1 : 0, messages_.comm()));
}

double Arms::now(Arm arm) const {
    if (arm != Arm::kNtpLike) {
        return MPI_Wtime();
    }
    return disturbances_.chronyd ? system_seconds() : read_clock(clock_->page(), raw_seconds());
}

Arms::Stamp Arms::stamp(Arm arm) const {
    Stamp stamp{};
    for (int attempt = 0; attempt < 5; ++attempt) {
        const double before = raw_there();
        stamp.clock = now(arm);
        const double after = raw_there();
        stamp.raw = before + (after - before) / 2;
        if (after - before < kNarrow) {
            break;
        }
    }
    return stamp;
}

std::vector<std::unique_ptr<Helper>> Arms::start_helpers(Arm arm) const {
    std::vector<std::unique_ptr<Helper>> helpers;
    const auto start = [&](const std::vector<std::string>& words, int inherited = -1) {
        helpers.push_back(std::make_unique<Helper>(disturbances_.helper, words, inherited));
    };
    if (arm == Arm::kNoise && leads_) {
        start({"noise", "--period-us", std::to_string(disturbances_.noise_period_us), "--work-us",
               std::to_string(disturbances_.noise_work_us)});
    }
    if (arm == Arm::kNtpLike) {
        const std::string kind = disturbances_.chronyd ? "chronyd-" : "";
        int port = 0;
        if (messages_.rank() == 0) {
            start({kind + "server", "--address", places_.address});
            port = helpers.back()->first_number();
        }
        MPI_Bcast(&port, 1, MPI_INT, 0, messages_.comm());
        // The system's clock is one for each host, and rank 0's host is the server.
        const bool asks = disturbances_.chronyd
                              ? places_.leads_host && (places_.host != 0 || places_.hosts == 1)
                              : leads_;
        if (asks && port != 0) {
            const int page = clock_->descriptor();
            std::vector<std::string> words{kind + "client",
                                           "--address",
                                           places_.address,
                                           "--period-us",
                                           std::to_string(disturbances_.ntp_period_us),
                                           "--port",
                                           std::to_string(port),
                                           "--page",
                                           std::to_string(page)};
            words.emplace_back(disturbances_.chronyd ? "--steers" : "--exchanges");
            words.push_back(disturbances_.chronyd ? std::to_string(steers() ? 1 : 0)
                                                  : std::to_string(disturbances_.ntp_exchanges));
            start(words, page);
        }
    }
    return helpers;
}

double Arms::stop_helpers(std::vector<std::unique_ptr<Helper>>& helpers) const {
    double used = 0;
    double failed = 0;
    for (auto& helper : helpers) {
        used += helper->stop();
        failed += helper->failed() ? 1 : 0;
    }
    if (total_of_all(failed, messages_.comm()) > 0) {
        throw std::runtime_error("a daemon ended before the steps did");
    }
    return total_of_all(used, messages_.comm());
}

void Arms::take_steps(Arm arm, int steps, ArmRun& run, std::vector<Stamp>& stamps) {
    const auto before = messages_.waiting();
    MPI_Barrier(messages_.comm());
    stamps.push_back(stamp(arm));
    for (int step = 0; step < steps; ++step) {
        const Solved solved = model_.step();
        run.iterations += solved.iterations;
        run.converged = run.converged && solved.converged;
        stamps.push_back(stamp(arm));
    }
    const auto after = messages_.waiting();
    const double own = stamps.back().raw - stamps.front().raw;
    const double ranks = messages_.ranks();
    run.sums_share = total_of_all((after.sums_s - before.sums_s) / own, messages_.comm()) / ranks;
    run.halos_share =
        total_of_all((after.halos_s - before.halos_s) / own, messages_.comm()) / ranks;
}

// A step begins when the last rank begins it, and ends when the last rank ends it; to know these
// moments takes one time for all ranks.
void Arms::judge_stamps(Arm arm, const std::vector<Stamp>& stamps, ArmRun& run) const {
    std::vector<double> clock;
    std::vector<double> raw;
    std::vector<double> ahead;
    std::vector<double> reference;
    const bool is_servers = arm == Arm::kNtpLike && !disturbances_.chronyd;
    for (const Stamp& one : stamps) {
        clock.push_back(one.clock);
        raw.push_back(one.raw);
        reference.push_back(is_servers ? 0 : one.clock - one.raw);
    }
    // Clocks are compared with CLOCK_MONOTONIC_RAW, which the ranks of this host share. Global time
    // is expected to differ from it by as much as rank 0's does; the server's time is
    // CLOCK_MONOTONIC_RAW itself.
    MPI_Bcast(reference.data(), static_cast<int>(reference.size()), MPI_DOUBLE, 0,
              messages_.comm());
    for (std::size_t i = 0; i < stamps.size(); ++i) {
        const double off = stamps[i].clock - stamps[i].raw - reference[i];
        ahead.push_back(std::abs(off));
    }
    clock = largest_of_all(clock, messages_.comm());
    raw = largest_of_all(raw, messages_.comm());
    ahead = largest_of_all(ahead, messages_.comm());
    for (std::size_t i = 1; i < stamps.size(); ++i) {
        const double step = clock[i] - clock[i - 1];
        run.steps_s.push_back(step);
        run.steps_error_s = std::max(run.steps_error_s, std::abs(step - (raw[i] - raw[i - 1])));
    }
    run.clock_error_s = *std::max_element(ahead.begin(), ahead.end());
    run.duration_s = raw.back() - raw.front();
}

ArmRun Arms::run(Arm arm, int steps) {
    ArmRun run;
    std::vector<Stamp> stamps;
    model_.restart();
    auto helpers = start_helpers(arm);
    const ClockPage& page = clock_->page();
    const auto wake_ups = page.wake_ups.load();
    const auto messages = page.messages.load();
    take_steps(arm, steps, run, stamps);
    run.helpers_cpu_s = stop_helpers(helpers);
    const double counts = leads_ ? 1 : 0;
    run.wake_ups =
        total_of_all(counts * static_cast<double>(page.wake_ups - wake_ups), messages_.comm());
    run.messages =
        total_of_all(counts * static_cast<double>(page.messages - messages), messages_.comm());
    judge_stamps(arm, stamps, run);
    run.fingerprint = model_.fingerprint();
    return run;
}

}  // namespace aferir::ocean

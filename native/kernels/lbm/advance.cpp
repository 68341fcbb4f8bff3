// Compiled once for each level of the instruction set, with AFERIR_ISA.

#include <cstddef>

#include "common/team.hpp"
#include "lbm/run.hpp"
#include "lbm/sweep.hpp"

namespace aferir::lbm::AFERIR_ISA {
namespace {

/// One thread of one rank.
class Runner {
  public:
    Runner(const Work& work, Meeting& meeting) : work_(work), me_(meeting), sweep_(work) {}

    void run(int steps) {
        int done = 0;
        for (; work_.exchange == nullptr && work_.schedule.steps > 1 &&
               done + work_.schedule.steps <= steps;
             done += work_.schedule.steps) {
            block();
        }
        for (; done < steps; done += 2) {
            if (work_.exchange == nullptr) {
                all_rows(0);
                all_rows(1);
            } else {
                pair_with_ranks();
            }
        }
    }

  private:
    [[nodiscard]] std::size_t id() const { return static_cast<std::size_t>(me_.id()); }

    void block() {
        for (const auto& task : work_.schedule.slabs[id()]) {
            do_rows(task);
        }
        me_.wait();
        for (const auto& task : work_.schedule.seams[id()]) {
            do_rows(task);
        }
        me_.wait();
    }

    void do_rows(const Task& task) const {
        sweep_.step(task.step, work_.cells->row(task.y0, task.z),
                    work_.cells->row(task.y1, task.z));
    }

    void all_rows(int step) {
        sweep_.step(step, work_.shares.all[id()], work_.shares.all[id() + 1]);
        me_.wait();
    }

    /// Runs an even step and an odd one. Rows that other ranks wait for are updated first, the
    /// others while the messages are under way.
    void pair_with_ranks() {
        border_rows(0);
        if (me_.id() == 0) {
            work_.exchange->start_ghosts(work_.f);
        }
        inner_rows();
        if (me_.id() == 0) {
            work_.exchange->finish_ghosts();
        }
        me_.wait();
        border_rows(1);
        if (me_.id() == 0) {
            work_.exchange->return_ghosts(work_.f);
        }
        me_.wait();
    }

    void border_rows(int step) {
        for (auto i = work_.shares.border[id()]; i < work_.shares.border[id() + 1]; ++i) {
            sweep_.step(step, work_.border[i], work_.border[i] + 1);
        }
        me_.wait();
    }

    void inner_rows() {
        if (work_.schedule.steps == 1) {
            for (const int step : {0, 1}) {
                inner(step, work_.shares.all[id()], work_.shares.all[id() + 1]);
                me_.wait();
            }
            return;
        }
        for (const auto* tasks : {&work_.schedule.slabs, &work_.schedule.seams}) {
            for (const auto& task : (*tasks)[id()]) {
                inner(task.step, work_.cells->row(task.y0, task.z),
                      work_.cells->row(task.y1, task.z));
                if (me_.id() == 0) {
                    work_.exchange->progress();
                }
            }
            me_.wait();
        }
    }

    /// Updates all rows but those at the border, in stretches as long as possible.
    void inner(int step, std::size_t first, std::size_t end) const {
        const auto& at_border = work_.cells->at_border;
        while (first < end) {
            if (at_border[first] != 0) {
                ++first;
                continue;
            }
            auto last = first + 1;
            while (last < end && at_border[last] == 0) {
                ++last;
            }
            sweep_.step(step, first, last);
            first = last;
        }
    }

    const Work& work_;
    Member me_;
    Sweep sweep_;
};

}  // namespace

void advance(const Work& work, int steps) {
    Meeting meeting(work.threads);
#pragma omp parallel num_threads(work.threads)
    Runner(work, meeting).run(steps);
}

}  // namespace aferir::lbm::AFERIR_ISA

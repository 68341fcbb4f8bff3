#include "loadgen/schedule.hpp"

#include <cmath>
#include <sstream>
#include <string>

#include "common/arguments.hpp"

namespace aferir::loadgen {

namespace {

constexpr double kLongest = 1e7;  // seconds: four months

bool possible(double seconds) { return seconds >= 0.0 && seconds <= kLongest; }

}  // namespace

std::vector<Arrival> read_schedule(std::istream& lines) {
    std::vector<Arrival> arrivals;
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        double after = -1.0;
        double watch = 0.0;
        std::string rest;
        if (!(fields >> after)) {
            after = -1.0;
        } else if (!fields.eof() && !(fields >> watch)) {
            fields.clear();
            watch = 0.0;
        }
        const bool clean = !(fields >> rest);
        const Nanoseconds at = possible(after) ? std::llround(after * 1e9) : -1;
        if (!clean || at < 0 || !possible(watch) ||
            (!arrivals.empty() && at < arrivals.back().after_start)) {
            throw UsageError("line " + std::to_string(arrivals.size() + 1) +
                             " of the schedule is not `SECONDS [WATCH_SECONDS]`, in order of time");
        }
        arrivals.push_back({at, std::llround(watch * 1e9)});
    }
    return arrivals;
}

}  // namespace aferir::loadgen

#include "io/report.hpp"

#include <cstdio>

#include "common/program.hpp"
#include "io/hash.hpp"

namespace aferir::io {

int print_outcome(JsonObject& line, const Outcome& outcome, std::string_view wrong) {
    line.boolean("verified", wrong.empty());
    if (!wrong.empty()) {
        line.text("error", wrong);
        print_line(stdout, line.str());
        return kUnverified;
    }
    const auto& counts = outcome.counts;
    if (outcome.cpu.user_s + outcome.cpu.system_s > 0) {
        line.number("user_s", outcome.cpu.user_s).number("system_s", outcome.cpu.system_s);
    }
    line.number("duration_s", outcome.duration_s)
        .integer("bytes_read", counts.read_bytes)
        .integer("bytes_written", counts.written_bytes)
        .integer("operations", counts.operations())
        .integer("reads", counts.reads)
        .integer("writes", counts.writes)
        .integer("syncs", counts.syncs)
        .text("data_hash", hexadecimal(outcome.hash));
    print_line(stdout, line.str());
    return kVerified;
}

}  // namespace aferir::io

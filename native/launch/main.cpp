// launch: runs one command, and reports its duration from execution to end and the resources used.
// It is copied into an instance, so that its results include neither a shell nor the way into the
// instance.
#include <span>
#include <string>
#include <system_error>

#include "common/program.hpp"
#include "launch/options.hpp"
#include "launch/run.hpp"
#include "launch/signals.hpp"

int main(int count, char** words) {
    namespace launch = aferir::launch;
    return aferir::run_program("launch", stderr, [&] {
        const auto job = launch::read_options(
            std::span<char* const>(words, static_cast<std::size_t>(count)).subspan(1));
        try {
            launch::adopt_orphans();
            launch::open_signals();
            aferir::print_line(stdout, launch::run(job));
            aferir::await_reader(stdout);
            return static_cast<int>(aferir::kVerified);
        } catch (const launch::Interrupted& interrupted) {
            if (!interrupted.stage().empty()) {
                aferir::print_line(stderr, "launch: `" + interrupted.stage() + "` had not ended");
            }
            return 128 + interrupted.signal();
        } catch (const std::system_error& error) {
            aferir::print_line(stderr, std::string("launch: ") + error.what());
            return static_cast<int>(aferir::kNoStorage);
        }
    });
}

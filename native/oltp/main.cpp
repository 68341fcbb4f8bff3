#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "common/program.hpp"
#include "oltp/check.hpp"
#include "oltp/load.hpp"
#include "oltp/terminal.hpp"

namespace aferir::oltp {
namespace {

constexpr std::string_view kProgram = "oltp-clients";
constexpr std::string_view kUsage =
    "oltp-clients --socket PATH [--load] [--customers N] [--seed N]\n"
    "             [--terminals N] [--transactions N]\n"
    "             [--ordered N] [--completed N] [--canceled N]\n"
    "             [--ask SELECT]\n"
    "Terminals of a brokerage in MariaDB: --load makes its data; else runs transactions, checks\n"
    "the data and prints one line of JSON. What earlier runs on the data have ordered, completed\n"
    "and canceled is given for the check. --ask prints the one number of a statement.";
constexpr std::array<std::string_view, 9> kNames = {"--socket",    "--customers",    "--seed",
                                                    "--terminals", "--transactions", "--ordered",
                                                    "--completed", "--canceled",     "--ask"};
constexpr std::array<std::string_view, 2> kFlags = {"--load", "--help"};

int print_load(Connection& database, const Scale& scale, std::int64_t seed) {
    JsonObject line;
    line.text("program", kProgram)
        .boolean("verified", true)
        .text("data_hash", std::to_string(load(database, scale, seed)));
    print_line(stdout, line.str());
    return kVerified;
}

// Counts of transactions that earlier runs have left in the same data.
Books books_before(const Arguments& arguments) {
    const auto count = [&](std::string_view name) {
        return arguments.integer(name, 0, 0, 1'000'000'000'000);
    };
    return {count("--ordered"), count("--completed"), count("--canceled")};
}

int print_run(const std::string& socket, const Scale& scale, const Arguments& arguments) {
    const auto terminals = static_cast<int>(arguments.integer("--terminals", 8, 1, 4096));
    const auto transactions = arguments.integer("--transactions", 10'000, 1, 1'000'000'000);
    const auto seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, 1LL << 31U));
    auto result = run_terminals(socket, scale, terminals, transactions, seed);
    Connection database(socket, "brokerage");
    auto books = books_before(arguments);
    books += result.books;
    const auto wrong = check(database, scale, books);
    JsonObject line;
    line.text("program", kProgram).boolean("verified", wrong.empty());
    if (!wrong.empty()) {
        line.text("error", wrong);
    } else {
        line.number("duration_s", result.duration_s)
            .integer("requests", result.latencies_s.size())
            .integer("retries", result.retries)
            .integer("ordered", books.ordered)
            .integer("completed", books.completed)
            .integer("canceled", books.canceled)
            .number("latency_p95_s", percentile(result.latencies_s, 95));
        for (const auto& share : kMix) {
            line.integer(share.name, result.done[share.kind]);
        }
    }
    print_line(stdout, line.str());
    return wrong.empty() ? kVerified : kUnverified;
}

int run(std::span<const std::string_view> given) {
    const Arguments arguments(given, kNames, kFlags);
    if (arguments.has("--help")) {
        print_line(stdout, kUsage);
        return kVerified;
    }
    const auto socket = arguments.value("--socket");
    if (!socket) {
        throw UsageError("--socket is missing; give the path of MariaDB's socket");
    }
    const Scale scale{arguments.integer("--customers", 1000, 1, 100'000'000)};
    try {
        if (const auto question = arguments.value("--ask")) {
            Connection database(std::string(*socket), "");
            print_line(stdout, std::to_string(database.number(std::string(*question))));
            return kVerified;
        }
        if (!arguments.has("--load")) {
            return print_run(std::string(*socket), scale, arguments);
        }
        Connection database(std::string(*socket), "");
        return print_load(database, scale, arguments.integer("--seed", 1, 0, 1LL << 31U));
    } catch (const DatabaseError& error) {
        print_line(stderr, std::string(kProgram) + ": MariaDB says: " + error.what());
        return kNoStorage;
    }
}

}  // namespace
}  // namespace aferir::oltp

int main(int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::run_program(aferir::oltp::kProgram, stderr,
                               [&] { return aferir::oltp::run(given); });
}

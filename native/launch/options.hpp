#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aferir::launch {

/// Condition at which a service counts as ready for the program beside it.
enum class Ready { kAtOnce, kPort, kLine, kCommand };

/// Job described by the command line.
struct Job {
    std::vector<std::string> command;
    std::string work;       ///< tar archive that the working folder is filled from; empty: none
    std::string directory;  ///< folder to run in; empty: a new one, removed in the end
    std::string input_file;
    std::string input_text;
    std::string output_file;           ///< standard output goes there and is not kept
    std::vector<std::string> reports;  ///< files whose end is reported
    std::string prepare;
    std::string conclude;
    std::string verify;
    std::string service;
    Ready ready = Ready::kAtOnce;
    std::string ready_when;  ///< port, text of a line, or command
    double ready_limit_s = 60.0;
    std::string echo;  ///< JSON in AFERIR_ECHO, repeated in the report as it is
    bool hash = false;
    bool cold = false;  ///< AFERIR_PAGE_CACHE is `cold`: no file of its folder is in memory then
    std::size_t keep_bytes = 262144;  ///< of each output, its end
};

/// `words` are those after the program's own name: options, `--`, command. Errors:
/// aferir::UsageError.
Job read_options(std::span<char* const> words);

}  // namespace aferir::launch

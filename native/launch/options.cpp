#include "launch/options.hpp"

#include <charconv>
#include <cstdlib>
#include <map>

#include "common/arguments.hpp"

namespace aferir::launch {
namespace {

template <typename Number>
Number number_of(std::string_view name, std::string_view text, Number least, Number most) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
        throw UsageError(std::string(name) + " " + std::string(text) + ": write a number from " +
                         std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

void set_ready(Job& job, std::string_view text) {
    static const std::map<std::string_view, Ready> kKinds{
        {"port", Ready::kPort}, {"line", Ready::kLine}, {"command", Ready::kCommand}};
    const auto space = text.find(' ');
    const auto found = kKinds.find(text.substr(0, space));
    if (found == kKinds.end() || space == std::string_view::npos) {
        throw UsageError("--ready " + std::string(text) +
                         ": write `port N`, `line TEXT` or `command LINE`");
    }
    job.ready = found->second;
    job.ready_when = text.substr(space + 1);
    if (job.ready == Ready::kPort) {
        number_of<int>("--ready port", job.ready_when, 1, 65535);
    }
}

}  // namespace

Job read_options(std::span<char* const> words) {
    Job job;
    const std::map<std::string_view, std::string*> texts{
        {"--work", &job.work},          {"--directory", &job.directory},
        {"--input", &job.input_file},   {"--input-text", &job.input_text},
        {"--output", &job.output_file}, {"--prepare", &job.prepare},
        {"--conclude", &job.conclude},  {"--verify", &job.verify},
        {"--service", &job.service},
    };
    std::size_t place = 0;
    for (; place < words.size() && std::string_view(words[place]) != "--"; ++place) {
        const std::string_view name = words[place];
        if (name == "--hash") {
            job.hash = true;
            continue;
        }
        if (place + 1 == words.size()) {
            throw UsageError(std::string(name) + " is no option, or needs a value");
        }
        const std::string_view value = words[++place];
        if (const auto found = texts.find(name); found != texts.end()) {
            *found->second = value;
        } else if (name == "--report") {
            job.reports.emplace_back(value);
        } else if (name == "--ready") {
            set_ready(job, value);
        } else if (name == "--ready-limit") {
            job.ready_limit_s = number_of<double>(name, value, 0.01, 86400.0);
        } else if (name == "--keep") {
            job.keep_bytes = number_of<std::size_t>(name, value, 1024, std::size_t{1} << 26U);
        } else {
            throw UsageError(std::string(name) + " is no option");
        }
    }
    for (++place; place < words.size(); ++place) {
        job.command.emplace_back(words[place]);
    }
    if (const char* const echo = std::getenv("AFERIR_ECHO"); echo != nullptr) {
        job.echo = echo;
        unsetenv("AFERIR_ECHO");  // it is for whoever reads the report
    }
    if (const char* const cache = std::getenv("AFERIR_PAGE_CACHE"); cache != nullptr) {
        job.cold = std::string_view(cache) == "cold";
        unsetenv("AFERIR_PAGE_CACHE");  // it is the environment's to say
    }
    if (job.command.empty() || job.command.front().empty()) {
        throw UsageError("no command: write it after --");
    }
    return job;
}

}  // namespace aferir::launch

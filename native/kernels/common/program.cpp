#include "common/program.hpp"

#include <string>

#include "common/arguments.hpp"
#include "common/memory.hpp"

namespace aferir {

void print_line(std::FILE* stream, std::string_view text) {
    std::fprintf(stream, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(stream);
}

int run_program(std::string_view name, std::FILE* err, const std::function<int()>& body) {
    try {
        return body();
    } catch (const UsageError& error) {
        print_line(err, std::string(name) + ": " + error.what());
        return kWrongUsage;
    } catch (const OutOfMemory& error) {
        print_line(err, std::string(name) + ": " + error.what());
        return kNoMemory;
    }
}

}  // namespace aferir

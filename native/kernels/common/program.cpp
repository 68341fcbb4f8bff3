#include "common/program.hpp"

#include <new>
#include <string>

#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "common/storage.hpp"

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
    } catch (const std::bad_alloc&) {
        print_line(err, std::string(name) +
                            ": not enough memory; choose a smaller problem or raise the limit");
        return kNoMemory;
    } catch (const StorageError& error) {
        print_line(err, std::string(name) + ": " + error.what());
        return kNoStorage;
    }
}

}  // namespace aferir

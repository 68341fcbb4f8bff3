#include "common/program.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <chrono>
#include <new>
#include <string>
#include <thread>

#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "common/storage.hpp"

namespace aferir {

void print_line(std::FILE* stream, std::string_view text) {
    std::fprintf(stream, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(stream);
}

void await_reader(std::FILE* stream) {
    constexpr int kLooks = 1000;
    const int number = fileno(stream);
    struct stat file{};
    std::fflush(stream);
    if (fstat(number, &file) != 0 || !S_ISFIFO(file.st_mode)) {
        return;
    }
    int unread = 0;
    for (int look = 0; look < kLooks; ++look) {
        if (ioctl(number, FIONREAD, &unread) != 0 || unread == 0) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
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

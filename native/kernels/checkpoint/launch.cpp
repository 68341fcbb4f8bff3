#include "checkpoint/launch.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "checkpoint/request.hpp"
#include "common/storage.hpp"

namespace aferir::checkpoint {

void become_mpirun(const Arguments& arguments, const std::filesystem::path& folder) {
    const std::string mpi(mpi_of(arguments));
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / ("checkpoint-mpiio-" + mpi);
    if (access(program.c_str(), X_OK) != 0) {
        throw_storage_error("run", program, errno);
    }
    std::vector<std::string> words{"mpirun." + mpi};
    if (mpi == "openmpi") {  // as in aferir.programs.mpi
        words.insert(words.end(), {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"});
    } else {
        words.insert(words.end(), {"-genv", "UCX_TLS", "self,sm"});
    }
    words.insert(words.end(), {"-n", std::string(arguments.value("--processes").value_or("2")),
                               program.string(), "--folder", folder.string()});
    for (const auto name : kNames) {
        if (const auto value = arguments.value(name)) {
            words.insert(words.end(), {std::string(name), std::string(*value)});
        }
    }
    for (const auto flag : kFlags) {
        if (arguments.has(flag)) {
            words.emplace_back(flag);
        }
    }
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (auto& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    execvp(pointers.front(), pointers.data());
    throw_storage_error("run", words.front(), errno);
}

}  // namespace aferir::checkpoint

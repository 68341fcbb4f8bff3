#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "common/arguments.hpp"

namespace aferir::io {

/// Folder in which a program makes its own one: --folder, else $AFERIR_SCRATCH, else /var/tmp.
std::filesystem::path scratch_parent(const Arguments& arguments);

/// Makes an empty folder of our own in `parent`. Errors: StorageError.
std::filesystem::path make_scratch(const std::filesystem::path& parent);

/// Runs a program of I/O: `body` gets a new folder below scratch_parent, and runs in a process of
/// its own, so that the folder is removed and the end reported, however it ends (killed for lack of
/// memory, interrupted). Only a SIGKILL of the waiting process itself leaves the folder.
///
/// `names` and `flags` are the program's options; --folder and --help are added. Returns the exit
/// code.
int run_in_scratch(std::string_view program, std::string_view usage,
                   std::span<const std::string_view> given, std::span<const std::string_view> names,
                   std::span<const std::string_view> flags,
                   const std::function<int(const Arguments&, const std::filesystem::path&)>& body);

}  // namespace aferir::io

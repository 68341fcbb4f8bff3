#pragma once

#include <cstdio>
#include <span>
#include <string_view>

namespace aferir::account {

/// io-account but for `main`: watches until its standard input ends; returns the exit code.
int watch(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir::account

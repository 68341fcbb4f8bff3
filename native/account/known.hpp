#pragma once

#include <cstdio>
#include <span>
#include <string_view>

namespace aferir::account {

/// The whole program account-known except `main`; returns the exit code.
int known(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir::account

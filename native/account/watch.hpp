#pragma once

#include <cstdio>
#include <span>
#include <string_view>

namespace aferir::account {

/// The whole program io-account except `main`: samples until its standard input ends. Returns the
/// exit code.
int watch(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir::account

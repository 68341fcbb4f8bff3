#pragma once

#include <string>

#include "loadgen/engine.hpp"

namespace aferir::loadgen {

/// One JSON object about the whole run, in which every client has exactly one outcome.
std::string summary(const Run& run);

/// One JSON object a line for each client.
std::string client_line(const Client& client, Nanoseconds began);

}  // namespace aferir::loadgen

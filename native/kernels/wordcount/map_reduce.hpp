#pragma once

#include <string_view>
#include <vector>

#include "io/counter.hpp"

namespace aferir::wordcount {

/// Cuts a text into that many parts, none of which begins or ends within a term; some may be empty.
std::vector<std::string_view> split(std::string_view text, std::size_t parts);

/// Counts the terms of a text by map and reduce threads (Boyd-Wickizer et al. 2010, Metis). Each
/// map thread counts its parts into one table for each reducer, by the terms' hashes; each reduce
/// thread merges its tables of all map threads. Returns the table of each reducer.
std::vector<io::TermCounter> count_terms(std::string_view text, int maps, int reduces);

}  // namespace aferir::wordcount

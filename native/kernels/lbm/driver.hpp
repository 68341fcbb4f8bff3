#pragma once

#include <cstdio>
#include <span>
#include <string_view>

#include "lbm/solver.hpp"

namespace aferir::lbm {

/// The kernels compiled for one level of the instruction set.
struct Variant {
    std::string_view isa;
    Advance* advance;
};

/// World of a single process.
class Alone : public World {
  public:
    [[nodiscard]] int id() const override { return 0; }
    [[nodiscard]] int count() const override { return 1; }
    [[nodiscard]] double seconds() const override;
    void wait() const override {}
    [[nodiscard]] double sum(double value) const override { return value; }
    [[nodiscard]] double largest(double value) const override { return value; }
    [[nodiscard]] std::unique_ptr<Exchange> exchange(const Cells& cells) const override;
};

/// The whole program except `main`: reads the command line, checks the kernels, computes the flow,
/// and rank 0 prints one JSON line to `out`. `mpi` is the MPI's name, empty without one. Returns
/// the exit code: 0, 1 (unverified), 2 (command line), 3 (not enough memory).
int drive(std::string_view program, std::string_view mpi, std::span<const Variant> variants,
          std::span<const std::string_view> given, const World& world, std::FILE* out,
          std::FILE* err);

}  // namespace aferir::lbm

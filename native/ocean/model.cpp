#include "ocean/model.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace aferir::ocean {
namespace {

/// Spreads the bits of a word over all of it (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
    return word ^ (word >> 31U);
}

double at(const Place& place, double longitude, double latitude) {
    return place ? place(longitude, latitude) : 0.0;
}

}  // namespace

Model::Model(Messages& messages, const Geometry& geometry, Physics physics, const Solving& solving)
    : messages_(messages),
      geometry_(geometry),
      physics_(std::move(physics)),
      solving_(solving),
      part_(messages.part()),
      layout_(messages.layout()),
      arena_(layout_, kArrays),
      elevation_(arena_.take()),
      eastward_(arena_.take()),
      northward_(arena_.take()),
      known_(arena_.take()),
      east_depth_(arena_.take()),
      north_depth_(arena_.take()),
      east_coupling_(arena_.take()),
      north_coupling_(arena_.take()),
      root_(arena_.take()),
      right_side_(arena_.take()),
      solution_(arena_.take()),
      solver_(messages, arena_, {east_coupling_, north_coupling_}) {
    build_depths();
    build_couplings();
    restart();
}

/// Factor in m/s by which a new elevation's gradient (m/m) changes the new velocity.
double Model::gravity_factor() const {
    return kGravity * physics_.theta * physics_.step_s / (1 + physics_.drag * physics_.step_s);
}

// Depths at sides are computed from indices of the whole grid, so that both processes at a border
// get the same bits, for any number of processes.
void Model::build_depths() {
    const auto wet = [&](int x, int y) {
        return geometry_.is_inside(y) &&
               physics_.depth(geometry_.longitude(x), geometry_.latitude(y)) > 0;
    };
    for (int j = -1; j <= layout_.ny; ++j) {
        for (int i = -1; i <= layout_.nx; ++i) {
            const int x = column(i);
            const int y = row(j);
            if (!wet(x, y)) {
                continue;
            }
            if (wet(column(i + 1), y)) {
                east_depth_[index(i, j)] =
                    physics_.depth(geometry_.longitude(x + 0.5), geometry_.latitude(y));
            }
            if (wet(x, y + 1)) {
                north_depth_[index(i, j)] =
                    physics_.depth(geometry_.longitude(x), geometry_.latitude(y + 0.5));
            }
        }
    }
}

double Model::east_joint(int i, int j) const {
    return gravity_factor() * physics_.theta * physics_.step_s * east_depth_[index(i, j)] *
           geometry_.east_length() / geometry_.east_distance(row(j));
}

double Model::north_joint(int i, int j) const {
    return gravity_factor() * physics_.theta * physics_.step_s * north_depth_[index(i, j)] *
           geometry_.north_length(row(j)) / geometry_.north_distance();
}

double Model::diagonal(int i, int j) const {
    return geometry_.area(row(j)) + ((east_joint(i, j) + east_joint(i - 1, j)) +
                                     (north_joint(i, j) + north_joint(i, j - 1)));
}

void Model::build_couplings() {
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            root_[index(i, j)] = std::sqrt(diagonal(i, j));
        }
    }
    messages_.exchange_halo(root_);
    for (int j = -1; j < layout_.ny; ++j) {
        for (int i = -1; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            if (east_depth_[here] > 0 && j >= 0) {
                east_coupling_[here] = east_joint(i, j) / (root_[here] * root_[index(i + 1, j)]);
            }
            if (north_depth_[here] > 0 && i >= 0) {
                north_coupling_[here] = north_joint(i, j) / (root_[here] * root_[index(i, j + 1)]);
            }
        }
    }
}

void Model::restart() {
    time_s_ = 0;
    for (int j = -1; j < layout_.ny; ++j) {
        for (int i = -1; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            const int x = column(i);
            const int y = row(j);
            const double longitude = geometry_.longitude(x);
            const double latitude = geometry_.latitude(y);
            const bool is_sea = geometry_.is_inside(y) && physics_.depth(longitude, latitude) > 0;
            elevation_[here] = is_sea ? at(physics_.elevation, longitude, latitude) : 0;
            eastward_[here] = east_depth_[here] > 0
                                  ? at(physics_.eastward, geometry_.longitude(x + 0.5), latitude)
                                  : 0;
            northward_[here] = north_depth_[here] > 0
                                   ? at(physics_.northward, longitude, geometry_.latitude(y + 0.5))
                                   : 0;
        }
    }
    messages_.exchange_halo(elevation_);
}

/// m^3/s through a cell's four sides.
double Model::outflow(int i, int j) const {
    const auto east = [&](int side) {
        const std::size_t at_side = index(side, j);
        return eastward_[at_side] * east_depth_[at_side] * geometry_.east_length();
    };
    const auto north = [&](int side) {
        const std::size_t at_side = index(i, side);
        return northward_[at_side] * north_depth_[at_side] * geometry_.north_length(row(side));
    };
    return (east(i) - east(i - 1)) + (north(j) - north(j - 1));
}

void Model::provisional_velocities() {
    const double step = physics_.step_s;
    const double keep = 1 / (1 + physics_.drag * step);
    const double pull = kGravity * step * (1 - physics_.theta);
    for (int j = 0; j < layout_.ny; ++j) {
        const double distance = geometry_.east_distance(row(j));
        const double wind = physics_.wind * -std::cos(3 * geometry_.latitude(row(j)));
        for (int i = -1; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            const double slope = (elevation_[index(i + 1, j)] - elevation_[here]) / distance;
            const double depth = east_depth_[here];
            const double push = depth > 0 ? step * wind / depth : 0;
            const double moved = keep * (eastward_[here] - pull * slope + push);
            eastward_[here] = depth > 0 ? moved : 0;
        }
    }
    for (int j = -1; j < layout_.ny; ++j) {
        const double distance = geometry_.north_distance();
        for (int i = 0; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            const double slope = (elevation_[index(i, j + 1)] - elevation_[here]) / distance;
            const double moved = keep * (northward_[here] - pull * slope);
            northward_[here] = north_depth_[here] > 0 ? moved : 0;
        }
    }
}

void Model::build_right_side() {
    const double step = physics_.step_s;
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            known_[here] = geometry_.area(row(j)) * elevation_[here] -
                           step * (1 - physics_.theta) * outflow(i, j);
        }
    }
    if (physics_.source) {
        const double share = physics_.source_at ? physics_.source_at(time_s_ + step / 2) : 1.0;
        for (int j = 0; j < layout_.ny; ++j) {
            for (int i = 0; i < layout_.nx; ++i) {
                known_[index(i, j)] +=
                    step * share * geometry_.area(row(j)) *
                    physics_.source(geometry_.longitude(column(i)), geometry_.latitude(row(j)));
            }
        }
    }
    provisional_velocities();
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            right_side_[here] =
                (known_[here] - step * physics_.theta * outflow(i, j)) / root_[here];
            solution_[here] = elevation_[here] * root_[here];
        }
    }
}

void Model::correct_velocities() {
    const double pull = gravity_factor();
    for (int j = 0; j < layout_.ny; ++j) {
        const double distance = geometry_.east_distance(row(j));
        for (int i = -1; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            const double slope = (elevation_[index(i + 1, j)] - elevation_[here]) / distance;
            eastward_[here] -= east_depth_[here] > 0 ? pull * slope : 0;
        }
    }
    for (int j = -1; j < layout_.ny; ++j) {
        const double distance = geometry_.north_distance();
        for (int i = 0; i < layout_.nx; ++i) {
            const std::size_t here = index(i, j);
            const double slope = (elevation_[index(i, j + 1)] - elevation_[here]) / distance;
            northward_[here] -= north_depth_[here] > 0 ? pull * slope : 0;
        }
    }
}

// Computes elevations from the flow through the cells' sides. As two cells share each side, volume
// is conserved to rounding, whatever the solver's residual.
void Model::correct_elevations() {
    const double weight = physics_.step_s * physics_.theta;
    for (int j = 0; j < layout_.ny; ++j) {
        const double area = geometry_.area(row(j));
        for (int i = 0; i < layout_.nx; ++i) {
            elevation_[index(i, j)] = (known_[index(i, j)] - weight * outflow(i, j)) / area;
        }
    }
}

Solved Model::step() {
    build_right_side();
    const Solved solved = solver_.solve(solving_.method, right_side_, solution_, solving_.tolerance,
                                        solving_.most_iterations);
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            elevation_[index(i, j)] = solution_[index(i, j)] / root_[index(i, j)];
        }
    }
    messages_.exchange_halo(elevation_);
    correct_velocities();
    correct_elevations();
    messages_.exchange_halo(elevation_);
    time_s_ += physics_.step_s;
    return solved;
}

Model::Volume Model::volume() {
    std::array<long double, 2> sums{};
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            const long double part =
                static_cast<long double>(elevation_[index(i, j)]) * geometry_.area(row(j));
            sums[0] += part;
            sums[1] += std::abs(part);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_LONG_DOUBLE, MPI_SUM, messages_.comm());
    return {static_cast<double>(sums[0]), static_cast<double>(sums[1])};
}

std::uint64_t Model::fingerprint() {
    std::uint64_t sum = 0;
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            const auto place = static_cast<std::uint64_t>(row(j)) *
                                   static_cast<std::uint64_t>(geometry_.shape().nx) +
                               static_cast<std::uint64_t>(column(i));
            sum += mixed(std::bit_cast<std::uint64_t>(elevation_[index(i, j)]) + mixed(place));
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, messages_.comm());
    return sum;
}

double Model::true_residual() {
    std::vector<double> found(layout_.size());
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            found[index(i, j)] = solution_[index(i, j)] / root_[index(i, j)];
        }
    }
    messages_.exchange_halo(found);
    std::array<long double, 2> sums{};
    for (int j = 0; j < layout_.ny; ++j) {
        for (int i = 0; i < layout_.nx; ++i) {
            const double own = found[index(i, j)];
            const double flux = east_joint(i, j) * (own - found[index(i + 1, j)]) +
                                east_joint(i - 1, j) * (own - found[index(i - 1, j)]) +
                                north_joint(i, j) * (own - found[index(i, j + 1)]) +
                                north_joint(i, j - 1) * (own - found[index(i, j - 1)]);
            const double wanted = right_side_[index(i, j)] * root_[index(i, j)];
            const double left = wanted - (geometry_.area(row(j)) * own + flux);
            sums[0] += left * left / diagonal(i, j);
            sums[1] += wanted * wanted / diagonal(i, j);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_LONG_DOUBLE, MPI_SUM, messages_.comm());
    return sums[1] > 0 ? static_cast<double>(std::sqrt(sums[0] / sums[1])) : 0;
}

double Model::error_against(const Place& exact) {
    std::array<long double, 2> sums{};
    for (int j = 0; j < layout_.ny; ++j) {
        const double area = geometry_.area(row(j));
        for (int i = 0; i < layout_.nx; ++i) {
            const double longitude = geometry_.longitude(column(i));
            const double latitude = geometry_.latitude(row(j));
            if (physics_.depth(longitude, latitude) > 0) {
                const double off = elevation_[index(i, j)] - exact(longitude, latitude);
                sums[0] += off * off * area;
                sums[1] += area;
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_LONG_DOUBLE, MPI_SUM, messages_.comm());
    return static_cast<double>(std::sqrt(sums[0] / sums[1]));
}

}  // namespace aferir::ocean

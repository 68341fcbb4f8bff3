#include "npb/ep_reference.hpp"

#include <array>

namespace aferir::npb {
namespace {

constexpr double kTolerance = 1e-8;

struct Reference {
    int exponent;
    GaussianSums sums;
};

constexpr std::array<Reference, 6> kReferences{{
    {24, {-3.247834652034740e+3, -6.958407078382297e+3, 13176389}},
    {25, {-2.863319731645753e+3, -6.320053679109499e+3, 26354769}},
    {28, {-4.295875165629892e+3, -1.580732573678431e+4, 210832767}},
    {30, {4.033815542441498e+4, -2.660669192809235e+4, 843345606}},
    {32, {4.764367927995374e+4, -8.084072988043731e+4, 3373275903}},
    {36, {1.982481200946593e+5, -1.020596636361769e+5, 53972171957}},
}};

const Reference& reference(ProblemClass problem) {
    return kReferences[static_cast<std::size_t>(problem)];
}

}  // namespace

std::int64_t ep_pairs(ProblemClass problem) {
    return std::int64_t{1} << reference(problem).exponent;
}

void verify_ep(ProblemClass problem, const GaussianSums& computed, Outcome& outcome) {
    const auto& published = reference(problem).sums;
    outcome.checks = {compare("sx", computed.sx, published.sx),
                      compare("sy", computed.sy, published.sy),
                      compare("gaussian_pairs", computed.pairs, published.pairs)};
    outcome.verified = all_within(outcome.checks, kTolerance) && computed.pairs == published.pairs;
}

}  // namespace aferir::npb

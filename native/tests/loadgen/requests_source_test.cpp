#include "loadgen/requests_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace aferir::loadgen {
namespace {

Plan plan_of(std::uint64_t seed) {
    Plan plan;
    plan.targets = {{{}, 3.0}, {{}, 0.0}, {{}, 1.0}};
    plan.steps = {{0, 2000.0}, {kSecond, 0.0}, {2 * kSecond, 500.0}};
    plan.duration = 4 * kSecond;
    plan.seed = seed;
    return plan;
}

std::vector<Wanted> all_of(const Plan& plan) {
    Source source(plan);
    std::vector<Wanted> taken;
    while (!source.done()) {
        const Nanoseconds announced = source.next();
        taken.push_back(source.take());
        EXPECT_EQ(taken.back().intended, announced);
    }
    return taken;
}

bool same(const Wanted& one, const Wanted& other) {
    return one.intended == other.intended && one.target == other.target;
}

class Sources : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Sources, KeepToTheRateOfEachStepAndToTheOrderOfTime) {
    const Plan plan = plan_of(GetParam());
    const std::vector<Wanted> taken = all_of(plan);
    EXPECT_TRUE(std::ranges::is_sorted(taken, {}, &Wanted::intended));
    const auto between = [&taken](Nanoseconds from, Nanoseconds to) {
        return static_cast<double>(std::ranges::count_if(taken, [from, to](const Wanted& one) {
            return from <= one.intended && one.intended < to;
        }));
    };
    EXPECT_NEAR(between(0, kSecond), 2000.0, 5 * std::sqrt(2000.0));
    EXPECT_EQ(between(kSecond, 2 * kSecond), 0.0);
    EXPECT_NEAR(between(2 * kSecond, 4 * kSecond), 1000.0, 5 * std::sqrt(1000.0));
    EXPECT_LT(taken.back().intended, plan.duration);
}

TEST_P(Sources, AskForTargetsByTheirWeights) {
    const std::vector<Wanted> taken = all_of(plan_of(GetParam()));
    const auto of = [&taken](std::uint32_t target) {
        return static_cast<double>(std::ranges::count(taken, target, &Wanted::target));
    };
    const auto all = static_cast<double>(taken.size());
    EXPECT_NEAR(of(0), 0.75 * all, 5 * std::sqrt(0.75 * 0.25 * all));
    EXPECT_EQ(of(1), 0.0);
    EXPECT_EQ(of(0) + of(2), all);
}

TEST_P(Sources, AreTheSameForTheSameSeedAndOthersForAnother) {
    const std::vector<Wanted> taken = all_of(plan_of(GetParam()));
    EXPECT_TRUE(std::ranges::equal(taken, all_of(plan_of(GetParam())), same));
    EXPECT_FALSE(std::ranges::equal(taken, all_of(plan_of(GetParam() + 1)), same));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Sources, testing::Range<std::uint64_t>(1, 9));

Plan plan_of_users(std::size_t users) {
    Plan plan = plan_of(1);
    plan.steps = {};
    plan.users = users;
    plan.warm_up = 2 * kSecond;
    return plan;
}

TEST(UsersOfAClosedLoop, BeginOneAfterAnotherDuringTheWarmUp) {
    const std::vector<Wanted> taken = all_of(plan_of_users(4));
    ASSERT_EQ(taken.size(), 4U);
    for (std::size_t user = 0; user < taken.size(); ++user) {
        EXPECT_EQ(taken[user].intended, static_cast<Nanoseconds>(user) * kSecond / 2);
    }
}

TEST(UsersOfAClosedLoop, AskAgainOnlyWhenTheyHaveTheirAnswers) {
    const Plan plan = plan_of_users(1);
    Source source(plan);
    for (Nanoseconds moment = 0; moment < plan.duration; moment += kSecond) {
        ASSERT_FALSE(source.done());
        EXPECT_EQ(source.take().intended, moment);
        EXPECT_TRUE(source.done());
        source.ended(moment + kSecond);
    }
    EXPECT_TRUE(source.done());
}

TEST(UsersOfAClosedLoop, ThinkExponentiallyLong) {
    Plan plan = plan_of_users(1);
    plan.think = kSecond / 1000;
    plan.duration = 1000 * kSecond;
    Source source(plan);
    constexpr int kTimes = 10'000;
    double sum = 0.0;
    double squares = 0.0;
    for (int time = 0; time < kTimes; ++time) {
        const Nanoseconds answered = source.take().intended;
        source.ended(answered);
        const double thought = static_cast<double>(source.next() - answered) * 1e-6;
        sum += thought;
        squares += thought * thought;
    }
    EXPECT_NEAR(sum / kTimes, 1.0, 0.05);
    EXPECT_NEAR(squares / kTimes, 2.0, 0.25);
}

TEST(Source, WithoutAnyRateIsDoneAtOnce) {
    Plan plan = plan_of(1);
    plan.steps = {{0, 0.0}};
    EXPECT_TRUE(Source(plan).done());
}

}  // namespace
}  // namespace aferir::loadgen

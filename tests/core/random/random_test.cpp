#include <kolam/core/random/normal.hpp>
#include <kolam/core/random/philox.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>

namespace kolam::random {
namespace {

using testing::ElementsAre;

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_THAT(philox4x32({}, {}).words,
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32({{ones, ones, ones, ones}}, {{ones, ones}}).words,
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}})
          .words,
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, IsAConstantExpression) {
  static_assert(philox4x32({}, philox_key(0))[0] == 0x6627e8d5);
  static_assert(philox_key(0x1122334455667788).words[0] == 0x55667788);
}

constexpr std::uint64_t samples = 200000;

/// The mean of f over the samples of one stream.
double mean_of(const std::function<double(double)>& f) {
  double sum = 0;
  for (std::uint64_t i = 0; i < samples; ++i) sum += f(standard_normal(17, 3, i));
  return sum / static_cast<double>(samples);
}

/// Five standard errors of a mean of values with this variance.
double five_errors(double variance) {
  return 5 * std::sqrt(variance / static_cast<double>(samples));
}

TEST(StandardNormal, HasTheMomentsOfTheNormalDistribution) {
  EXPECT_NEAR(mean_of([](double z) { return z; }), 0, five_errors(1));
  EXPECT_NEAR(mean_of([](double z) { return z * z; }), 1, five_errors(2));
  EXPECT_NEAR(mean_of([](double z) { return z * z * z; }), 0, five_errors(15));
  EXPECT_NEAR(mean_of([](double z) { return z * z * z * z; }), 3, five_errors(96));
}

TEST(StandardNormal, HasTheTailsOfTheNormalDistribution) {
  for (const double bound : {0.5, 1.0, 2.0, 3.0, 4.0}) {
    const double beyond = 0.5 * std::erfc(bound / std::sqrt(2.0));
    EXPECT_NEAR(mean_of([&](double z) { return z > bound ? 1.0 : 0.0; }), beyond,
                five_errors(beyond));
    EXPECT_NEAR(mean_of([&](double z) { return z < -bound ? 1.0 : 0.0; }), beyond,
                five_errors(beyond));
  }
}

TEST(StandardNormal, IsUncorrelatedBetweenNeighbours) {
  double index_sum = 0;
  double stream_sum = 0;
  double seed_sum = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const double z = standard_normal(17, 3, i);
    index_sum += z * standard_normal(17, 3, i + 1);
    stream_sum += z * standard_normal(17, 4, i);
    seed_sum += z * standard_normal(18, 3, i);
  }
  for (const double sum : {index_sum, stream_sum, seed_sum})
    EXPECT_NEAR(sum / static_cast<double>(samples), 0, five_errors(1));
}

TEST(StandardNormal, DependsOnAllBitsOfSeedStreamAndIndexAndOnNothingElse) {
  std::set<double> values;
  const std::uint64_t numbers[] = {0, 1, std::uint64_t{1} << 32, std::uint64_t{1} << 63};
  for (const std::uint64_t seed : numbers)
    for (const std::uint64_t stream : numbers)
      for (const std::uint64_t index : numbers) {
        values.insert(standard_normal(seed, stream, index));
        values.insert(standard_normal(seed, stream, index));
      }
  EXPECT_EQ(values.size(), 64U);
}

TEST(StandardNormal, IsFiniteWhereTheUniformIsSmallest) {
  for (std::uint64_t i = 0; i < samples; ++i) ASSERT_LT(std::abs(standard_normal(0, 0, i)), 8.6);
}

}  // namespace
}  // namespace kolam::random

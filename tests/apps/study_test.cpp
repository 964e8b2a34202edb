// The batch sweep, measured for real on small models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/parallel/session.hpp>

#include "study/sweep.hpp"
#include "support/kokkos_events.hpp"

namespace {

using namespace kolam;
using namespace kolam::app;
using Outcome = SweepPoint::Outcome;

data::Dataset made_up_images(std::int64_t count) {
  data::IdxFile images{{count, 4, 4},
                       std::vector<std::uint8_t>(static_cast<std::size_t>(count * 16), 90)};
  data::IdxFile labels{{count}, {}};
  for (std::int64_t i = 0; i < count; ++i)
    labels.bytes.push_back(static_cast<std::uint8_t>(i % 10));
  return data::Dataset(std::move(images), std::move(labels), "made up", 10);
}

StudyOptions small_study(std::vector<std::int64_t> sweep) {
  StudyOptions options = study_preset("quick");
  options.width = 64;
  options.repeats = 8;
  options.sweep = std::move(sweep);
  options.sweep_steps = 1;
  return options;
}

std::vector<Outcome> outcomes(const std::vector<SweepPoint>& points) {
  std::vector<Outcome> result;
  for (const SweepPoint& point : points) result.push_back(point.outcome);
  return result;
}

TEST(Sweep, PassesOverWhatDoesNotDivideOrHasTooFewExamples) {
  const data::Dataset dataset = made_up_images(300);
  Session session({.devices = 2});
  const std::vector<SweepPoint> points =
      measure_sweep(session, dataset, small_study({7, 8, 256, 1024}), 2, [](std::int64_t) {});
  EXPECT_EQ(outcomes(points), (std::vector{Outcome::does_not_divide, Outcome::measured,
                                           Outcome::measured, Outcome::too_few_examples}));
  EXPECT_EQ(points[2].batch_per_device, 128);
  EXPECT_GT(points[2].examples_per_second, 0);
}

TEST(Sweep, ReportsWhatDoesNotFitAndGoesOn) {
  const data::Dataset dataset = made_up_images(4096);
  // 1024 rows of 64 floats in 20 arrays are 5 MiB per device.
  Session session({.devices = 2, .memory_limit = 4 << 20});
  const std::vector<SweepPoint> points = measure_sweep(
      session, dataset, small_study({64, 2048, 128, 4096, 256}), 2, [](std::int64_t) {});
  EXPECT_EQ(outcomes(points),
            (std::vector{Outcome::measured, Outcome::does_not_fit, Outcome::measured,
                         Outcome::does_not_fit, Outcome::measured}));
  EXPECT_GT(points[1].needed_bytes, 4 << 20);
  for (const std::size_t measured : {0, 2, 4}) {
    EXPECT_NEAR(static_cast<double>(points[measured].peak_bytes) /
                    static_cast<double>(points[measured].needed_bytes),
                1, 0.1);
  }
}

TEST(Sweep, GivesMemoryBackBetweenSizes) {
  const data::Dataset dataset = made_up_images(1024);
  Session session({.devices = 2, .memory_limit = 4 << 20});
  const test::LiveMemory memory;
  std::vector<std::int64_t> before_each;
  measure_sweep(session, dataset, small_study({64, 256, 1024, 64}), 2,
                [&](std::int64_t) { before_each.push_back(memory.bytes()); });
  EXPECT_EQ(before_each, (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_GT(memory.peak_bytes(), 1 << 20);
}

}  // namespace

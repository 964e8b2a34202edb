#include <kolam/core/data/batches.hpp>

#include "allocations.hpp"
#include "files.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace kolam::data::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

/// Two pixels per image that name the example, and labels modulo 10.
Dataset numbered_dataset(std::int64_t n) {
  IdxFile images{{n, 1, 2}, {}};
  IdxFile labels{{n}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    images.bytes.push_back(static_cast<std::uint8_t>(i / 256));
    images.bytes.push_back(static_cast<std::uint8_t>(i % 256));
    labels.bytes.push_back(static_cast<std::uint8_t>(i % 10));
  }
  return Dataset(std::move(images), std::move(labels), "numbered");
}

std::vector<std::uint32_t> ascending(std::size_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> order) {
  std::sort(order.begin(), order.end());
  return order;
}

/// The examples of one epoch in the order in which its batches bring them.
std::vector<std::uint32_t> examples_of(EpochBatches<float>& epoch) {
  std::vector<std::uint32_t> all;
  while (epoch.next()) all.insert(all.end(), epoch.examples().begin(), epoch.examples().end());
  return all;
}

TEST(ShuffledOrder, HoldsEveryExampleOnce) {
  for (const std::int64_t n : {0, 1, 2, 3, 1000, 60000})
    EXPECT_EQ(sorted(shuffled_order(n, 7, 0)), ascending(static_cast<std::size_t>(n)));
}

TEST(ShuffledOrder, DependsOnAllBitsOfSeedAndEpoch) {
  std::set<std::vector<std::uint32_t>> orders;
  constexpr std::uint64_t high = std::uint64_t{1} << 32;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, high})
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1}, high})
      orders.insert(shuffled_order(50, seed, epoch));
  EXPECT_EQ(orders.size(), 9U);
}

TEST(ShuffledOrder, BringsEveryPermutationEquallyOften) {
  constexpr int rounds = 24000;
  std::map<std::vector<std::uint32_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < rounds; ++epoch) ++counts[shuffled_order(4, 3, epoch)];
  ASSERT_EQ(counts.size(), 24U);
  double chi_squared = 0;
  for (const auto& [order, count] : counts)
    chi_squared += (count - rounds / 24.0) * (count - rounds / 24.0) / (rounds / 24.0);
  EXPECT_LT(chi_squared, 58.6);  // 23 degrees of freedom: exceeded with probability 6e-5
}

TEST(ShuffledOrder, RefusesMoreExamplesThanIndicesCount) {
  EXPECT_THAT(refusal([] { shuffled_order(std::int64_t{1} << 32, 0, 0); }),
              HasSubstr("4294967296"));
  EXPECT_THAT(refusal([] { shuffled_order(-1, 0, 0); }), HasSubstr("-1"));
}

template <class T>
class StackedBatchesOf : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(StackedBatchesOf, Precisions);

TYPED_TEST(StackedBatchesOf, HoldScaledPixelsAndLabelsInShuffledOrder) {
  const Dataset dataset = numbered_dataset(700);
  const auto stacked =
      stack_batches<TypeParam>(dataset, {.batches = 3, .batch = 5, .seed = 9, .epoch = 2});
  const std::vector<std::uint32_t> order = shuffled_order(700, 9, 2);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(stacked.images(i).extents, (Extents{5, 2}));
    EXPECT_EQ(stacked.labels(i).extents, (Extents{5}));
    for (std::int64_t row = 0; row < 5; ++row) {
      const std::uint32_t example = order[static_cast<std::size_t>(i * 5 + row)];
      EXPECT_EQ(stacked.images(i).data[row * 2], TypeParam(example / 256) / TypeParam(255));
      EXPECT_EQ(stacked.images(i).data[row * 2 + 1], TypeParam(example % 256) / TypeParam(255));
      EXPECT_EQ(stacked.labels(i).data[row], static_cast<std::int32_t>(example % 10));
    }
  }
}

TEST(StackBatches, AcceptsAllExamplesAndRefusesMore) {
  const Dataset dataset = numbered_dataset(12);
  EXPECT_EQ(stack_batches<float>(dataset, {.batches = 3, .batch = 4}).batches(), 3);
  const auto refuse = [&](std::int64_t batches, std::int64_t batch) {
    return refusal([&] { stack_batches<float>(dataset, {.batches = batches, .batch = batch}); });
  };
  EXPECT_THAT(refuse(3, 5), AllOf(HasSubstr("3 batches of 5 examples"), HasSubstr("holds 12")));
  EXPECT_THAT(refuse(1, 13), HasSubstr("holds 12"));
  constexpr std::int64_t large = std::int64_t{1} << 32;
  EXPECT_THAT(refuse(large, large), HasSubstr("holds 12"));
}

TEST(StackBatches, RefusesNumbersBelowOne) {
  const Dataset dataset = numbered_dataset(12);
  for (const StackOptions options : {StackOptions{.batches = 0}, StackOptions{.batch = -1}})
    EXPECT_THAT(refusal<ConfigurationError>([&] { stack_batches<float>(dataset, options); }),
                HasSubstr("expected at least 1"));
  EXPECT_THAT(
      refusal<ConfigurationError>([&] { EpochBatches<float>(dataset, {.global_batch = 0}); }),
      HasSubstr("the global batch is 0"));
}

TEST(EpochBatches, LeaveASmallerLastBatch) {
  const Dataset dataset = numbered_dataset(9);
  EpochBatches<float> epoch(dataset, {.global_batch = 8});
  EXPECT_EQ(epoch.batch_count(), 2);
  ASSERT_TRUE(epoch.next());
  EXPECT_EQ(epoch.images().extents, (Extents{8, 2}));
  ASSERT_TRUE(epoch.next());
  EXPECT_EQ(epoch.images().extents, (Extents{1, 2}));
  EXPECT_EQ(epoch.labels().extents, (Extents{1}));
  EXPECT_FALSE(epoch.next());
  EXPECT_FALSE(epoch.next());
}

TEST(EpochBatches, HaveOneBatchIfTheGlobalBatchIsLargerThanTheDataSet) {
  const Dataset dataset = numbered_dataset(9);
  EpochBatches<double> epoch(dataset, {.global_batch = std::int64_t{1} << 40});
  EXPECT_EQ(epoch.batch_count(), 1);
  ASSERT_TRUE(epoch.next());
  EXPECT_EQ(epoch.images().extents, (Extents{9, 2}));
  EXPECT_FALSE(epoch.next());
}

TEST(EpochBatches, BringTheSameGlobalPermutationWhateverTheBatch) {
  const Dataset dataset = numbered_dataset(103);
  for (const std::int64_t global_batch : {1, 10, 64, 103}) {
    EpochBatches<float> batches(dataset, {.global_batch = global_batch, .seed = 5});
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      batches.start(epoch);
      EXPECT_EQ(examples_of(batches), shuffled_order(103, 5, epoch));
    }
  }
}

TEST(EpochBatches, DifferBetweenEpochsAndRepeatInARerun) {
  const Dataset dataset = numbered_dataset(103);
  std::set<std::vector<std::uint32_t>> orders;
  EpochBatches<float> first(dataset, {.global_batch = 8, .seed = 5});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    first.start(epoch);
    const std::vector<std::uint32_t> order = examples_of(first);
    EpochBatches<float> again(dataset, {.global_batch = 8, .seed = 5, .epoch = epoch});
    EXPECT_EQ(examples_of(again), order);
    EXPECT_EQ(sorted(order), ascending(103));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3U);
}

TEST(EpochBatches, BringThePixelsAndLabelsOfTheirExamples) {
  const Dataset dataset = numbered_dataset(300);
  EpochBatches<float> epoch(dataset, {.global_batch = 128, .seed = 1});
  while (epoch.next()) {
    for (std::size_t row = 0; row < epoch.examples().size(); ++row) {
      const std::uint32_t example = epoch.examples()[row];
      EXPECT_EQ(epoch.images().data[row * 2], static_cast<float>(example / 256) / 255.0F);
      EXPECT_EQ(epoch.images().data[row * 2 + 1], static_cast<float>(example % 256) / 255.0F);
      EXPECT_EQ(epoch.labels().data[row], static_cast<std::int32_t>(example % 10));
    }
  }
}

TEST(EpochBatches, KeepTheStoredOrderForEvaluation) {
  const Dataset dataset = numbered_dataset(20);
  EpochBatches<float> epoch(dataset, {.global_batch = 8, .order = Order::as_stored});
  EXPECT_EQ(examples_of(epoch), ascending(20));
}

/// Allocations that making the smallest data set takes.
int allocations_of_a_data_set() {
  const int before = allocations();
  numbered_dataset(1);
  return allocations() - before;
}

TEST(EpochBatches, AllocateNothingPerBatchOrEpoch) {
  const Dataset dataset = numbered_dataset(100);
  EpochBatches<float> batches(dataset, {.global_batch = 8});
  const int before = allocations();
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    batches.start(epoch);
    while (batches.next()) {
    }
  }
  const int after = allocations();
  EXPECT_EQ(after, before);
  EXPECT_GT(allocations_of_a_data_set(), 0) << "the count counts nothing";
}

TEST(Dataset, TellsItsExtentsAndClasses) {
  const Dataset dataset = numbered_dataset(7);
  EXPECT_EQ(dataset.count(), 7);
  EXPECT_EQ(dataset.features(), 2);
  EXPECT_EQ(dataset.class_count(), 7);
  EXPECT_THAT(dataset.image(3), testing::ElementsAre(0, 3));
}

TEST(Dataset, RefusesCountsThatDoNotFit) {
  EXPECT_THAT(refusal([] {
                Dataset({{2, 1, 1}, {1, 2}}, {{1}, {0}}, "source");
              }),
              AllOf(HasSubstr("2 images"), HasSubstr("1 labels"), HasSubstr("source")));
  EXPECT_THAT(refusal([] {
                Dataset({{2, 1, 1}, {1}}, {{2}, {0, 0}}, "source");
              }),
              HasSubstr("[2, 1, 1]"));
  EXPECT_THAT(refusal([] {
                Dataset({{0, 1, 1}, {}}, {{0}, {}}, "source");
              }),
              HasSubstr("empty data set"));
}

TEST(CheckLabels, RefusesFewerOutputsThanClassesAndAcceptsMore) {
  const Dataset dataset = numbered_dataset(30);
  check_labels(dataset, 10);
  check_labels(dataset, 12);
  EXPECT_THAT(refusal([&] { check_labels(dataset, 9); }),
              AllOf(HasSubstr("example 9 of"), HasSubstr("label 9"), HasSubstr("below 9"),
                    HasSubstr("classes to 10")));
}

}  // namespace
}  // namespace kolam::data::test

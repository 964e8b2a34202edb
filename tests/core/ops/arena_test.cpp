// A training step allocates nothing once it has run twice, and memory limits hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/shared_block_mlp.hpp>

#include "support/kokkos_events.hpp"

namespace {

using namespace kolam;

struct Batch {
  explicit Batch(std::int64_t rows) : images(static_cast<std::size_t>(rows * 20), 0.5f) {
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  }
  HostTensor<float> host_images() const {
    return {images.data(), {static_cast<std::int64_t>(labels.size()), 20}};
  }
  HostTensor<std::int32_t> host_labels() const {
    return {labels.data(), {static_cast<std::int64_t>(labels.size())}};
  }
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

using Model = models::SharedBlockMlp<models::DataParallel, float>;

void step(RankContext& rank, Model& model, optim::AdamW<float>& optimizer, const Batch& batch) {
  const auto x = device_put<P<"data", none>>(rank, batch.host_images());
  const auto y = device_put<P<"data">>(rank, batch.host_labels());
  const auto [loss, gradients] =
      value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
  optimizer.update(gradients);
}

TEST(Steps, AllocateNothingAfterTheFirstTwo) {
  RankContext rank;
  Model model(rank, {.inputs = 20, .width = 32, .repeats = 6});
  optim::AdamW optimizer(model.parameters(), {});
  const Batch batch(16);
  step(rank, model, optimizer, batch);
  step(rank, model, optimizer, batch);
  const std::int64_t in_use = rank.arena().bytes_in_use();
  const test::CountAllocations count;
  for (int i = 0; i < 5; ++i) step(rank, model, optimizer, batch);
  EXPECT_EQ(count.so_far(), 0);
  EXPECT_EQ(rank.arena().bytes_in_use(), in_use);
}

TEST(Steps, CountAsAllocationsWhatTheFirstOneTakes) {
  RankContext rank;
  Model model(rank, {.inputs = 20, .width = 32, .repeats = 6});
  optim::AdamW optimizer(model.parameters(), {});
  const test::CountAllocations count;
  step(rank, model, optimizer, Batch(16));
  EXPECT_GT(count.so_far(), 10);
}

TEST(Arena, RefusesWhatTheLimitDoesNotHold) {
  Arena arena(1000);
  const Block first = arena.allocate(500, "the first");
  try {
    arena.allocate(600, "the second");
    FAIL() << "600 bytes were given although 488 are left";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the second needs 640 bytes, 488 of the limit of "
                                                 "1000 bytes are left"));
  }
  EXPECT_EQ(arena.bytes_in_use(), 512);
}

TEST(Arena, FreesWhatNobodyHoldsBeforeItRefuses) {
  Arena arena(1024);
  arena.allocate(640, "given back at once");
  const Block block = arena.allocate(1024, "all of it");
  EXPECT_NE(block.data(), nullptr);
  EXPECT_EQ(arena.bytes_reserved(), 1024);
  EXPECT_EQ(arena.peak_bytes(), 1024);
}

TEST(Arena, ReusesABlockOfTheSameSize) {
  Arena arena;
  void* const first = arena.allocate(4096, "a block").data();
  const test::CountAllocations count;
  EXPECT_EQ(arena.allocate(4096, "another").data(), first);
  EXPECT_EQ(count.so_far(), 0);
}

TEST(Arena, LeavesDeadHandlesThatMayBeDestroyedLater) {
  Block left;
  {
    Arena arena;
    left = arena.allocate(64, "outlives its arena");
    EXPECT_NE(left.data(), nullptr);
  }
  EXPECT_EQ(left.data(), nullptr);
  const Block copy = left;
  EXPECT_EQ(copy.data(), nullptr);
}

TEST(Arena, RefusesARequestNearTheLargestInteger) {
  Arena arena(1 << 20);
  EXPECT_THROW(arena.allocate(Arena::no_limit, "everything"), OutOfMemory);
}

}  // namespace

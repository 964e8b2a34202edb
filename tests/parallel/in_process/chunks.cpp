#include <kolam/parallel/chunks.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace kolam::testing {

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(Chunks, CoverTheCountInOrder) {
  EXPECT_EQ(chunks(21, 8), (std::vector<Chunk>{{0, 8}, {8, 8}, {16, 5}}));
  EXPECT_EQ(chunks(16, 8), (std::vector<Chunk>{{0, 8}, {8, 8}}));
  EXPECT_EQ(chunks(8, 21), (std::vector<Chunk>{{0, 8}}));
  EXPECT_EQ(chunks(0, 8), std::vector<Chunk>{});
}

TEST(Chunks, OfCountsBeyond32Bits) {
  const std::int64_t per_call = std::numeric_limits<std::int32_t>::max();
  const std::vector<Chunk> pieces = chunks((std::int64_t{1} << 32) + 1, per_call);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces.back(), (Chunk{2 * per_call, 3}));
}

TEST(Chunks, NextToTheLargestCountDoNotOverflow) {
  EXPECT_EQ(chunks(largest, largest), (std::vector<Chunk>{{0, largest}}));
  EXPECT_EQ(chunks(largest, largest - 1).back(), (Chunk{largest - 1, 1}));
}

// The sum of 21 elements through calls that take 8 at most.
TEST(Chunks, SumWhatTheWholeWouldSum) {
  std::vector<int> values(21);
  std::iota(values.begin(), values.end(), 1);
  std::int64_t sum = 0;
  for (const Chunk& chunk : chunks(21, 8)) {
    EXPECT_LE(chunk.length, 8);
    const auto begin = values.begin() + chunk.offset;
    sum += std::accumulate(begin, begin + chunk.length, std::int64_t{0});
  }
  EXPECT_EQ(sum, 231);
}

TEST(Chunks, RefuseNonsense) {
  EXPECT_THROW(chunks(-1, 8), ShapeError);
  EXPECT_THROW(chunks(8, 0), ConfigurationError);
}

TEST(ByteCount, HoldsWhatFits64BitsOnly) {
  const std::int64_t elements = std::int64_t{65536} * 65536;
  EXPECT_EQ(byte_count(elements, ScalarType::f32), std::int64_t{1} << 34);
  EXPECT_EQ(byte_count(elements + 1, ScalarType::f64), (std::int64_t{1} << 35) + 8);
  EXPECT_EQ(byte_count(largest / 4, ScalarType::f32), largest - 3);
  EXPECT_THROW(byte_count(largest / 4 + 1, ScalarType::f32), ShapeError);
  EXPECT_THROW(byte_count(-1, ScalarType::f32), ShapeError);
}

}  // namespace

}  // namespace kolam::testing

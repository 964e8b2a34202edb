// Meshes, placements, slices, extents, drawings, and Arrays over a user's Views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/array/array.hpp>
#include <kolam/core/array/device_put.hpp>
#include <kolam/core/array/sharding.hpp>

#include <numeric>
#include <optional>

namespace {

using namespace kolam;
using testing::HasSubstr;

template <class E, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Mesh, NumbersItsRanksRowMajor) {
  const Mesh mesh{{"data", 2}, {"model", 3}};
  EXPECT_EQ(mesh.size(), 6);
  EXPECT_EQ(mesh.coordinate(4, "data"), 1);
  EXPECT_EQ(mesh.coordinate(4, "model"), 1);
  EXPECT_EQ(mesh.group(4, "model"), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(mesh.group(4, "data"), (std::vector<int>{1, 4}));
  EXPECT_EQ(mesh.group(4, axes("data", "model")), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(mesh.group(4, axes("model", "data")), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(Mesh, CountsAnAxisThatItLacksAsSizeOne) {
  const Mesh mesh{{"data", 2}};
  EXPECT_EQ(mesh.axis_size("model"), 1);
  EXPECT_EQ(mesh.coordinate(1, "model"), 0);
  EXPECT_EQ(mesh.group(1, "model"), std::vector<int>{1});
}

TEST(Mesh, RefusesWhatIsNoGrid) {
  EXPECT_THROW((Mesh{{"data", 0}}), ConfigurationError);
  EXPECT_THROW((Mesh{{"", 2}}), ConfigurationError);
  EXPECT_THROW((Mesh{{"data", 2}, {"data", 2}}), ConfigurationError);
  EXPECT_THROW((Mesh{{"sixteen_letters_", 2}}), ConfigurationError);
  EXPECT_THROW((Mesh{{"data", 2, {1.0}}}), ConfigurationError);
  EXPECT_THROW((Mesh{{"data", 2, {1.0, -1.0}}}), ConfigurationError);
  EXPECT_THROW((Mesh{{"a", 1 << 20}, {"b", 1 << 20}}), ConfigurationError);
}

TEST(Slices, GiveTheFirstRanksOneMore) {
  EXPECT_EQ(even_slice(10, 3, 0), (Slice{0, 4}));
  EXPECT_EQ(even_slice(10, 3, 1), (Slice{4, 3}));
  EXPECT_EQ(even_slice(10, 3, 2), (Slice{7, 3}));
  EXPECT_EQ(even_slice(1, 3, 2), (Slice{1, 0}));
  EXPECT_EQ(even_slice(0, 3, 1), (Slice{0, 0}));
}

/// Slices of every rank follow each other without gap or overlap.
void expect_cover(const Mesh& mesh, const Axes& split, std::int64_t extent) {
  std::int64_t next = 0;
  for (const int rank : mesh.group(0, split)) {
    const Slice slice = local_slice(mesh, rank, split, extent);
    EXPECT_EQ(slice.begin, next);
    EXPECT_GE(slice.length, 0);
    next = slice.begin + slice.length;
  }
  EXPECT_EQ(next, extent);
}

TEST(Slices, CoverEveryExtentExactlyOnce) {
  for (std::int64_t extent = 0; extent < 40; ++extent) {
    expect_cover(Mesh{{"data", 3}}, "data", extent);
    expect_cover(Mesh{{"data", 2}, {"model", 3}}, axes("data", "model"), extent);
    expect_cover(Mesh{{"data", 3, {2.0, 1.0, 0.5}}}, "data", extent);
    expect_cover(Mesh{{"data", 2, {3.0, 1.0}}, {"model", 2}}, axes("data", "model"), extent);
  }
}

TEST(Slices, FollowTheWeightsOfUnequalDevices) {
  const Mesh mesh{{"data", 3, {2.0, 1.0, 1.0}}};
  EXPECT_EQ(local_slice(mesh, 0, "data", 100), (Slice{0, 50}));
  EXPECT_EQ(local_slice(mesh, 1, "data", 100), (Slice{50, 25}));
  EXPECT_EQ(local_slice(mesh, 2, "data", 100), (Slice{75, 25}));
}

TEST(Placement, IsTheSameWithAndWithoutTrailingNone) {
  EXPECT_EQ((placement_of<P<"data", none>>), (placement_of<P<"data">>));
  EXPECT_TRUE((std::is_same_v<Array<float**, P<none, none>>, Array<float**, P<>>>));
}

TEST(PartitionSpec, IsTheRunTimeValueOfAPolicy) {
  EXPECT_EQ((PartitionSpec::of<P<"data", none>>()), (PartitionSpec{{"data"}, {}}));
  EXPECT_EQ(to_string(PartitionSpec::of<P<"data", none>>(), 2), "P(\"data\", none)");
  EXPECT_EQ(to_string(PartitionSpec::of<P<none, axes("data", "model")>>(), 2),
            "P(none, (\"data\", \"model\"))");
  EXPECT_EQ(to_string(PartitionSpec(), 2), "P()");
  EXPECT_THROW((PartitionSpec{{"data"}, {"data"}}), ConfigurationError);
}

TEST(TypedShape, ShowsAxesAndState) {
  EXPECT_EQ(typed_shape("f32", {1024, 784}, placement_of<P<"data", none>>), "f32[1024@data, 784]");
  EXPECT_EQ(typed_shape("f64", {8, 4}, placement_of<P<none, axes("data", "model")>>),
            "f64[8, 4@data@model]");
  EXPECT_EQ(typed_shape("f32", {}, placement_of<P<>, Pending<"data">>), "f32[] pending@data");
}

TEST(VisualizeSharding, DrawsRowsOfAMatrix) {
  const NamedSharding sharding{Mesh{{"data", 2}}, {{"data"}, {}}};
  EXPECT_EQ(visualize_sharding(sharding, {6, 784}),
            "        0:784\n"
            "    +----------+\n"
            "0:3 | device 0 |\n"
            "    +----------+\n"
            "3:6 | device 1 |\n"
            "    +----------+\n");
}

TEST(VisualizeSharding, DrawsAGridAndWhatIsCopied) {
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const std::string grid = visualize_sharding({mesh, {{"data"}, {"model"}}}, {4, 4});
  EXPECT_THAT(grid, HasSubstr("| device 0 | device 1 |"));
  EXPECT_THAT(grid, HasSubstr("| device 2 | device 3 |"));
  EXPECT_THAT(visualize_sharding({mesh, {}}, {4, 4}), HasSubstr("| devices 0-3 |"));
  EXPECT_THAT(visualize_sharding({mesh, {{}, {"model"}}}, {4, 4}),
              HasSubstr("| devices 0,2 | devices 1,3 |"));
  EXPECT_THAT(visualize_sharding({mesh, {{"data"}}}, {4}),
              HasSubstr("| devices 0,1 | devices 2,3 |"));
}

TEST(VisualizeSharding, DrawsMoreRanksThanElements) {
  const std::string text = visualize_sharding({Mesh{{"data", 3}}, {{"data"}}}, {2});
  EXPECT_THAT(text, HasSubstr("empty"));
  EXPECT_THAT(text, HasSubstr("device 2"));
}

TEST(VisualizeSharding, RefusesOtherDimensions) {
  EXPECT_THROW(visualize_sharding({Mesh{}, {}}, {2, 2, 2}), ShapeError);
  EXPECT_THROW(visualize_sharding({Mesh{}, {}}, {}), ShapeError);
}

TEST(Extents, CountBeyond32Bits) {
  EXPECT_EQ((Extents{65536, 65536}).count(), 4294967296);
  EXPECT_EQ((Extents{4294967297}).bytes(4), 17179869188);
  EXPECT_EQ(even_slice(4294967297, 2, 1), (Slice{2147483649, 2147483648}));
}

TEST(Extents, RefuseProductsThatDoNotFit) {
  EXPECT_THROW((Extents{1LL << 32, 1LL << 32}).count(), ShapeError);
  EXPECT_THROW((Extents{1LL << 61}).bytes(8), ShapeError);
  EXPECT_THAT(message_of<ShapeError>([] { (void)Extents{1LL << 62}.bytes(4); }),
              HasSubstr("does not fit a signed 64-bit integer"));
  EXPECT_THROW((Extents{-1}), ShapeError);
  EXPECT_THROW((Extents{1, 1, 1, 1, 1}), ShapeError);
}

std::vector<float> counted(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(DevicePut, GivesEachRankItsSliceOfRowsAndColumns) {
  const std::vector<float> host = counted(5 * 4);
  for (int r = 0; r < 4; ++r) {
    RankContext rank(Mesh{{"data", 2}, {"model", 2}}, r);
    const auto x = device_put<P<"data", "model">>(rank, HostTensor<float>{host.data(), {5, 4}});
    const Slice rows = even_slice(5, 2, r / 2);
    const Slice columns = even_slice(4, 2, r % 2);
    ASSERT_EQ(x.local_extents(), (Extents{rows.length, columns.length}));
    EXPECT_EQ(x.extents(), (Extents{5, 4}));
    EXPECT_EQ(x.typed_shape(), "f32[5@data, 4@model]");
    for (std::int64_t i = 0; i < rows.length; ++i) {
      for (std::int64_t j = 0; j < columns.length; ++j) {
        EXPECT_EQ(x.view()(i, j), float((rows.begin + i) * 4 + columns.begin + j));
      }
    }
  }
}

TEST(DevicePut, SplitsADimensionOverTwoAxes) {
  const std::vector<float> host = counted(10);
  std::int64_t seen = 0;
  for (int r = 0; r < 6; ++r) {
    RankContext rank(Mesh{{"data", 2}, {"model", 3}}, r);
    const auto x = device_put<P<axes("data", "model")>>(rank, HostTensor<float>{host.data(), {10}});
    for (std::int64_t i = 0; i < x.local_extents()[0]; ++i) EXPECT_EQ(x.view()(i), float(seen++));
  }
  EXPECT_EQ(seen, 10);
}

TEST(DevicePut, TakesEmptySlicesAndEmptyArrays) {
  const std::vector<float> host = counted(4);
  RankContext last(Mesh{{"data", 3}}, 2);
  EXPECT_EQ(
      (device_put<P<"data", none>>(last, HostTensor<float>{host.data(), {1, 4}})).local_extents(),
      (Extents{0, 4}));
  EXPECT_EQ((device_put<P<"data", none>>(last, HostTensor<float>{nullptr, {0, 4}})).local_extents(),
            (Extents{0, 4}));
}

TEST(DevicePut, RefusesAnotherNumberOfDimensions) {
  RankContext rank;
  EXPECT_EQ(message_of<ShapeError>([&] {
              device_put<P<"data", none>>(rank, HostTensor<float>{nullptr, {3}});
            }),
            "device_put: the host array is [3], but the policy names 2 dimensions; name each one");
}

TEST(Wrap, UsesTheViewsMemory) {
  RankContext rank(Mesh{{"data", 2}}, 1);
  const Kokkos::View<double**, Kokkos::LayoutRight, MemorySpace> view("kolam::test::field", 2, 3);
  const auto array = wrap<P<"data", none>>(rank, view, {5, 3});
  EXPECT_EQ(array.view().data(), view.data());
  EXPECT_EQ(array.typed_shape(), "f64[5@data, 3]");
}

TEST(Wrap, RefusesAViewThatIsNotTheRanksSlice) {
  RankContext rank(Mesh{{"data", 2}}, 1);
  const Kokkos::View<double**, Kokkos::LayoutRight, MemorySpace> view("kolam::test::field", 3, 3);
  EXPECT_THAT(message_of<ShapeError>([&] {
                wrap<P<"data", none>>(rank, view, {5, 3});
              }),
              HasSubstr("the View has extents [3, 3], but rank 1 holds [2, 3] of f64[5@data, 3]"));
  const auto columns = Kokkos::subview(view, Kokkos::ALL, std::pair(0, 2));
  const Kokkos::View<double**, Kokkos::LayoutStride, MemorySpace> strided = columns;
  EXPECT_FALSE(strided.span_is_contiguous());
}

TEST(Array, MayOutliveItsRankButIsEmptyThen) {
  std::optional<Array<float**, P<>>> left;
  {
    RankContext rank;
    left.emplace(rank, Extents{3, 3});
    EXPECT_NE(left->block().data(), nullptr);
  }
  EXPECT_EQ(left->block().data(), nullptr);
}

}  // namespace

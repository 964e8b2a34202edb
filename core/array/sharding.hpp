/// \file
/// Who holds which slice: placements as run-time values, and the arithmetic of slices.
#pragma once

#include <kolam/core/array/extents.hpp>
#include <kolam/core/array/mesh.hpp>
#include <kolam/core/array/placement.hpp>

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kolam {

/// A contiguous block of one dimension.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  bool operator==(const Slice&) const = default;
};

/// Slice `index` of `extent` elements cut into `parts` blocks: where they do not divide evenly, the
/// first blocks hold one more.
Slice even_slice(std::int64_t extent, int parts, int index);

/// The slice of a dimension that `rank` holds if `axes` split it. Axes with weights cut one after
/// the other, the outermost first, each slice as near to its weight's share as whole elements
/// allow.
Slice local_slice(const Mesh& mesh, int rank, const Axes& axes, std::int64_t extent);

/// Extents of what `rank` holds of an array of this placement; allocates nothing.
Extents local_extents(const Mesh& mesh, int rank, const Placement& placement,
                      const Extents& global);

/// A placement as a run-time value: for each dimension the names of the axes that split it.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  /// `PartitionSpec{{"data"}, {}}` is `P("data", none)`.
  PartitionSpec(std::initializer_list<std::initializer_list<std::string_view>> dimensions);
  explicit PartitionSpec(const Placement& placement);
  /// The spec of a policy, e.g. `PartitionSpec::of<P<"data", none>>()`.
  template <class Policy>
  static PartitionSpec of() {
    return PartitionSpec(placement_of<Policy>);
  }

  /// Axes that split a dimension; empty beyond the last one named.
  const Axes& operator[](int dimension) const {
    return split_[static_cast<std::size_t>(dimension)];
  }
  bool is_replicated() const;
  /// The policy that this is the value of.
  Placement placement() const;
  bool operator==(const PartitionSpec&) const = default;

 private:
  std::array<Axes, Placement::max_dimensions> split_{};
};

/// `P("data", none)` of a matrix; all `dimensions` are named.
std::string to_string(const PartitionSpec& spec, int dimensions);

/// A mesh and a partition spec: who holds which slice.
struct NamedSharding {
  Mesh mesh;
  PartitionSpec spec;

  /// The slice of each dimension that a rank holds.
  std::array<Slice, Extents::max_dimensions> slices(const Extents& global, int rank) const;
  /// Extents of what a rank holds.
  Extents local_extents(const Extents& global, int rank) const;
  /// Largest number of elements that any rank holds.
  std::int64_t largest_local_count(const Extents& global) const;
};

/// Draws which rank holds which part of an array of one or two dimensions, as a box of text; ranks
/// that hold the same part share a box.
/// \throws ShapeError for other numbers of dimensions.
std::string visualize_sharding(const NamedSharding& sharding, const Extents& extents);

/// `f32[1024@data, 784]`, or with a pending sum `f32[] pending@data`.
std::string typed_shape(std::string_view scalar, const Extents& extents,
                        const Placement& placement);

}  // namespace kolam

/// \file
/// A grid of ranks with named axes, as a plain value.
#pragma once

#include <kolam/core/array/axes.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kolam {

/// One axis of a mesh. `weights`, where given, say how much of a split dimension each coordinate
/// takes (unequal devices); empty means equal shares.
struct MeshAxis {
  std::string name;
  int size = 1;
  std::vector<double> weights = {};
};

/// A grid of ranks, e.g. `Mesh{{"data", 2}, {"model", 2}}`. Ranks are numbered row-major: the last
/// axis runs fastest. An axis that the mesh lacks counts as size 1. Any number of axes.
class Mesh {
 public:
  /// One rank, no axes.
  Mesh() = default;
  /// \throws ConfigurationError for an empty, too long or repeated name, a size below 1, or weights
  ///   that are not one positive number per coordinate.
  Mesh(std::initializer_list<MeshAxis> axes);
  explicit Mesh(std::vector<MeshAxis> axes);

  const std::vector<MeshAxis>& axes() const { return axes_; }
  /// Number of ranks: the product of all axis sizes.
  int size() const { return size_; }
  /// Size along an axis; 1 if the mesh lacks it.
  int axis_size(std::string_view axis) const;
  /// Product of the sizes along several axes.
  int group_size(const Axes& axes) const;
  /// Coordinate of a rank along an axis; 0 if the mesh lacks it.
  int coordinate(int rank, std::string_view axis) const;
  /// Row-major index of a rank within several axes, the first axis outermost.
  int group_index(int rank, const Axes& axes) const;
  /// Every rank that differs from `rank` along these axes only, in the order of their coordinates
  /// (the first axis outermost). Contains `rank` itself.
  std::vector<int> group(int rank, const Axes& axes) const;

  bool operator==(const Mesh& other) const;

 private:
  void check() const;
  std::vector<MeshAxis> axes_;
  int size_ = 1;
};

/// `{"data": 2, "model": 2}`.
std::string to_string(const Mesh& mesh);

}  // namespace kolam

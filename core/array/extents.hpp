/// \file
/// Extents of an array of up to four dimensions, with products checked against overflow.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace kolam {

/// Number of elements per dimension; indices are 64-bit everywhere.
class Extents {
 public:
  static constexpr int max_dimensions = 4;

  Extents() = default;
  /// \throws ShapeError for a negative extent or more than four dimensions.
  Extents(std::initializer_list<std::int64_t> values);

  int dimensions() const { return dimensions_; }
  std::int64_t operator[](int dimension) const {
    return values_[static_cast<std::size_t>(dimension)];
  }
  void set(int dimension, std::int64_t extent) {
    values_[static_cast<std::size_t>(dimension)] = extent;
  }
  /// Adds a dimension at the end.
  void append(std::int64_t extent);

  /// Number of elements; 1 without dimensions.
  /// \throws ShapeError if the product does not fit a signed 64-bit integer.
  std::int64_t count() const;
  /// Bytes for elements of `element_size` bytes.
  /// \throws ShapeError if the product does not fit a signed 64-bit integer.
  std::int64_t bytes(std::int64_t element_size) const;

  bool operator==(const Extents&) const = default;

 private:
  std::array<std::int64_t, max_dimensions> values_{};
  int dimensions_ = 0;
};

/// `[1024, 784]`.
std::string to_string(const Extents& extents);

/// `a * b`. \throws ShapeError if the product does not fit a signed 64-bit integer.
std::int64_t checked_product(std::int64_t a, std::int64_t b);

}  // namespace kolam

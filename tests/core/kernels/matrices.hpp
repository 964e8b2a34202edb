/// \file
/// Matrices on the host for tests of kernels: owned here, handed out as the Views kernels take.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace kolam::testing {

/// Rows that may lie further apart than their length, filled from a counter in [-2, 2).
template <class T>
class HostMatrix {
 public:
  HostMatrix(std::int64_t rows, std::int64_t columns, std::uint32_t seed = 0,
             std::int64_t padding = 0)
      : rows_(rows),
        columns_(columns),
        stride_(columns + padding),
        values_(static_cast<std::size_t>(rows * stride_)) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::uint64_t bits = (i + 1) * 0x9E3779B97F4A7C15u + seed * 0xBF58476D1CE4E5B9u;
      bits = (bits ^ (bits >> 31)) * 0x94D049BB133111EBu;
      values_[i] = static_cast<T>(static_cast<double>(bits >> 40) / 4194304.0 - 2.0);
    }
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  T& operator()(std::int64_t i, std::int64_t j) {
    return values_[static_cast<std::size_t>(i * stride_ + j)];
  }
  T operator()(std::int64_t i, std::int64_t j) const {
    return values_[static_cast<std::size_t>(i * stride_ + j)];
  }
  void fill(T value) { values_.assign(values_.size(), value); }

  Matrix<T> view() { return cut(Matrix<T>(data(values_), extent(rows_), extent(stride_))); }
  Matrix<const T> view() const {
    return cut(Matrix<const T>(data(values_), extent(rows_), extent(stride_)));
  }
  Matrix<const T> read() const { return view(); }
  /// All elements of a matrix without padding, in a row.
  Vector<T> flat() { return Vector<T>(data(values_), values_.size()); }
  Vector<const T> flat() const { return Vector<const T>(data(values_), values_.size()); }

  bool operator==(const HostMatrix& other) const {
    return values_.size() == other.values_.size() &&
           (values_.empty() ||
            std::memcmp(values_.data(), other.values_.data(), values_.size() * sizeof(T)) == 0);
  }

 private:
  // A View of no elements still wants an address.
  static T* data(std::vector<T>& values) { return values.empty() ? &nothing() : values.data(); }
  static const T* data(const std::vector<T>& values) {
    return values.empty() ? &nothing() : values.data();
  }
  static T& nothing() {
    static T value{};
    return value;
  }
  static std::size_t extent(std::int64_t value) { return static_cast<std::size_t>(value); }
  template <class View>
  View cut(const View& padded) const {
    return Kokkos::subview(padded, Kokkos::ALL, std::pair(std::size_t{0}, extent(columns_)));
  }

  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t stride_;
  std::vector<T> values_;
};

}  // namespace kolam::testing

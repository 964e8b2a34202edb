/// \file
/// What collectives must deliver, computed element by element on one thread, and the data that the
/// ranks put in.
#pragma once

#include <kolam/parallel/communicator.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace kolam::testing {

/// The element that a rank holds at an index: rounding shows every change of the order of a sum.
template <class T>
T element(int rank, std::int64_t index) {
  std::uint64_t bits = static_cast<std::uint64_t>(rank) * 0x9E3779B97F4A7C15u +
                       static_cast<std::uint64_t>(index) * 0xBF58476D1CE4E5B9u;
  bits ^= bits >> 31;
  bits *= 0x94D049BB133111EBu;
  bits ^= bits >> 29;
  const auto small = static_cast<std::int64_t>(bits % 2000003) - 1000001;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(small) / static_cast<T>(7919);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(small);
  } else {
    return static_cast<T>(bits % 200);
  }
}

template <class T>
std::vector<T> elements(int rank, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = element<T>(rank, i);
  }
  return values;
}

template <class T>
T combine(ReduceOperation operation, T a, T b) {
  if (operation == ReduceOperation::min) return b < a ? b : a;
  if (operation == ReduceOperation::max) return a < b ? b : a;
  return static_cast<T>(a + b);
}

/// The tree of the contract: the largest power of two below the number of values on the left.
template <class T>
T tree(ReduceOperation operation, std::span<const T> values) {
  if (values.size() == 1) return values[0];
  std::size_t left = 1;
  while (left * 2 < values.size()) left *= 2;
  return combine(operation, tree(operation, values.first(left)),
                 tree(operation, values.subspan(left)));
}

/// The reduction over ranks of the elements `[offset, offset + count)` that each holds.
template <class T>
std::vector<T> reduced(ReduceOperation operation, const std::vector<int>& ranks,
                       std::int64_t offset, std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  std::vector<T> column(ranks.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < ranks.size(); ++r) column[r] = element<T>(ranks[r], offset + i);
    T& value = result[static_cast<std::size_t>(i)];
    value = tree<T>(operation, column);
    if (operation == ReduceOperation::mean) value /= static_cast<T>(ranks.size());
  }
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
Buffer buffer(std::vector<T>& values) {
  return {values.data(), scalar_type_of<T>, static_cast<std::int64_t>(values.size())};
}

template <class T>
ConstBuffer const_buffer(const std::vector<T>& values) {
  return {values.data(), scalar_type_of<T>, static_cast<std::int64_t>(values.size())};
}

}  // namespace kolam::testing

/// \file
/// Names of mesh axes as compile-time values.
///
/// A name is one concrete class with a `char[16]` member, so that it can be a template argument:
/// `P<"data", none>`. A class template deduced from the literal would do for g++ and clang, but
/// nvcc 13 rejects it.
#pragma once

#include <cstddef>
#include <string_view>

namespace kolam {

/// The name of one mesh axis: 1 to 15 characters.
struct AxisName {
  static constexpr std::size_t capacity = 16;
  char text[capacity]{};

  constexpr AxisName() = default;

  template <std::size_t N>
  consteval AxisName(const char (&literal)[N]) {  // NOLINT: implicit, so that P<"data"> reads well
    static_assert(N > 1, "kolam: an axis name must not be empty");
    static_assert(N <= capacity, "kolam: an axis name has at most 15 characters");
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }

  constexpr std::string_view view() const { return std::string_view(text); }
  constexpr bool operator==(const AxisName&) const = default;
};

/// An ordered list of up to four axis names: what splits a dimension (outer axis first), or a set
/// of axes over which a value is pending or varying.
struct Axes {
  static constexpr int capacity = 4;
  AxisName names[capacity]{};
  int count = 0;

  constexpr Axes() = default;

  template <std::size_t N>
  consteval Axes(const char (&literal)[N]) : count(1) {  // NOLINT: implicit
    names[0] = AxisName(literal);
  }

  /// nvcc writes a template argument back for the host compiler as a list of its members.
  constexpr Axes(const AxisName (&given)[capacity], int used) : count(used) {
    for (int i = 0; i < capacity; ++i) names[i] = given[i];
  }

  constexpr bool operator==(const Axes&) const = default;
  constexpr bool empty() const { return count == 0; }
  constexpr const AxisName* begin() const { return names; }
  constexpr const AxisName* end() const { return names + count; }

  constexpr bool contains(const AxisName& name) const {
    for (const AxisName& mine : *this)
      if (mine == name) return true;
    return false;
  }

  /// Adds a name at the end unless it is there already.
  constexpr Axes with(const AxisName& name) const {
    Axes result = *this;
    if (!contains(name)) result.names[result.count++] = name;
    return result;
  }
};

/// A dimension that no mesh axis splits.
inline constexpr Axes none{};

/// A dimension split over several axes, the outermost first: `P<axes("data", "model"), none>`.
template <std::size_t... N>
consteval Axes axes(const char (&... literal)[N]) {
  static_assert(sizeof...(N) <= Axes::capacity, "kolam: at most four axes split one dimension");
  Axes result;
  ((result.names[result.count++] = AxisName(literal)), ...);
  return result;
}

/// The same names in alphabetical order: two equal sets then compare equal.
constexpr Axes as_set(const Axes& list) {
  Axes sorted;
  for (const AxisName& name : list) sorted = sorted.with(name);
  for (int i = 1; i < sorted.count; ++i) {
    for (int j = i; j > 0 && sorted.names[j].view() < sorted.names[j - 1].view(); --j) {
      const AxisName swapped = sorted.names[j];
      sorted.names[j] = sorted.names[j - 1];
      sorted.names[j - 1] = swapped;
    }
  }
  return sorted;
}

constexpr Axes set_union(const Axes& a, const Axes& b) {
  Axes result;
  for (const AxisName& name : a) result = result.with(name);
  for (const AxisName& name : b) result = result.with(name);
  return as_set(result);
}

constexpr Axes set_difference(const Axes& a, const Axes& b) {
  Axes result;
  for (const AxisName& name : a)
    if (!b.contains(name)) result = result.with(name);
  return as_set(result);
}

constexpr bool overlap(const Axes& a, const Axes& b) {
  for (const AxisName& name : a)
    if (b.contains(name)) return true;
  return false;
}

constexpr bool is_subset(const Axes& a, const Axes& b) {
  return set_difference(a, b).empty();
}

}  // namespace kolam

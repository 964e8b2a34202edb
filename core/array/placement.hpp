/// \file
/// Placement policies: where an array lives, as part of its type.
///
/// `P<"data", none>` splits the first dimension over the mesh axis "data" and copies the second to
/// every rank; `P<>` is replicated. `Pending<"data">`: the true value is the sum of the ranks'
/// values over that axis. `Varying<"data">` (inside `shard_map` only): ranks along the axis hold
/// unrelated values.
#pragma once

#include <kolam/core/array/axes.hpp>

namespace kolam {

/// Per dimension the mesh axis (or axes) that splits it, or `none`; missing dimensions are `none`.
template <Axes... Split>
struct P {};

/// The true value is the sum of the ranks' values over these axes.
template <Axes... Over>
struct Pending {};

/// Ranks along these axes hold unrelated values; exists inside `shard_map` only.
template <Axes... Over>
struct Varying {};

/// All policies of one array as one compile-time value: the canonical form, in which `P<"data">`
/// and `P<"data", none>` of a matrix are the same.
struct Placement {
  static constexpr int max_dimensions = 4;
  Axes split[max_dimensions]{};
  Axes pending{};
  Axes varying{};
  /// Axes over which `psum` or `pmean` already reduced a value that went into this one. It decides
  /// whether gradients are well defined: see `value_and_grad`.
  Axes reduced{};

  constexpr bool operator==(const Placement&) const = default;

  /// The axes that split one dimension. Built name by name: g++ 12 rejects the plain copy of an
  /// element of an all-default array inside a template argument.
  constexpr Axes dimension(int index) const {
    Axes result;
    for (const AxisName& name : split[index]) result = result.with(name);
    return result;
  }
  /// Every axis that splits some dimension.
  constexpr Axes split_axes() const {
    Axes all;
    for (const Axes& dimension : split) all = set_union(all, dimension);
    return all;
  }
  constexpr bool is_split() const { return !split_axes().empty(); }
  constexpr bool same_split(const Placement& other) const {
    for (int i = 0; i < max_dimensions; ++i)
      if (!(split[i] == other.split[i])) return false;
    return true;
  }
  constexpr bool is_replicated() const { return !is_split() && pending.empty() && varying.empty(); }
};

namespace detail {

template <class Policy>
struct PolicyValue {
  static_assert(sizeof(Policy) == 0,
                "kolam: a placement policy is P<...>, Pending<...> or Varying<...>");
};

template <Axes... Split>
struct PolicyValue<P<Split...>> {
  static_assert(sizeof...(Split) <= Placement::max_dimensions,
                "kolam: P<...> names at most four dimensions");
  static constexpr Placement apply(Placement placement) {
    int dimension = 0;
    ((placement.split[dimension++] = Split), ...);
    (void)dimension;
    return placement;
  }
};

template <Axes... Over>
struct PolicyValue<Pending<Over...>> {
  static constexpr Placement apply(Placement placement) {
    ((placement.pending = set_union(placement.pending, Over)), ...);
    return placement;
  }
};

template <Axes... Over>
struct PolicyValue<Varying<Over...>> {
  static constexpr Placement apply(Placement placement) {
    ((placement.varying = set_union(placement.varying, Over)), ...);
    return placement;
  }
};

/// Whether an axis is used twice: by two dimensions, or by a dimension and pending or varying.
constexpr bool uses_an_axis_twice(const Placement& placement) {
  Axes seen;
  for (const Axes& dimension : placement.split) {
    for (const AxisName& name : dimension) {
      if (seen.contains(name)) return true;
      seen = seen.with(name);
    }
  }
  return overlap(seen, placement.pending) || overlap(seen, placement.varying) ||
         overlap(placement.pending, placement.varying);
}

}  // namespace detail

/// The canonical value of a list of policies, e.g. `placement_of<P<"data">, Pending<"model">>`.
template <class... Policies>
inline constexpr Placement placement_of = [] {
  Placement placement;
  ((placement = detail::PolicyValue<Policies>::apply(placement)), ...);
  return placement;
}();

}  // namespace kolam

/// \file
/// `shard_map<In<...>, Out<...>>(rank, f)`: the explicit path. `f` sees this rank's slices as whole
/// arrays that vary over the mesh, calls `psum` and `pmean` itself, and must return what `Out`
/// declares; the compiler checks it.
///
/// An argument that is an Array must have the placement that `In` names; inside, its split axes
/// have become varying. Any other argument (a model) is passed on by reference and takes `P<>`. A
/// result is an Array or `Gradients`: replicated by `P<>` only if it varies over nothing, split by
/// `P<"data">` if it varies over "data" at most; then the slices become one global array.
#pragma once

#include <kolam/parallel/collectives.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace kolam {

/// Placements of the arguments of a `shard_map` function, one policy each.
template <class... Policies>
struct In {};
/// Placements of its results.
template <class... Policies>
struct Out {};

namespace detail {

template <Placement From>
inline constexpr Placement localized = [] {
  Placement local;
  local.pending = From.pending;
  local.varying = set_union(From.varying, From.split_axes());
  local.reduced = From.reduced;
  return local;
}();

template <class Spec, class Argument>
decltype(auto) localize(Argument& argument) {
  using Plain = std::remove_cvref_t<Argument>;
  if constexpr (IsArray<Plain>::value) {
    static_assert(placement_of<Spec> == Plain::placement,
                  "kolam shard_map: an argument has another placement than its entry in In<...>; "
                  "put it with that placement, or mend the entry");
    return relabel<localized<Plain::placement>>(argument, argument.local_extents());
  } else {
    static_assert(placement_of<Spec> == Placement{},
                  "kolam shard_map: an argument that is no Array (a model) takes P<> in In<...>");
    return static_cast<Argument&>(argument);
  }
}

template <Placement Declared, Placement Found>
consteval void check_published() {
  static_assert(
      Found.pending.empty(),
      "kolam shard_map: a result is a pending sum; resolve it with psum before returning");
  static_assert(!Found.is_split(),
                "kolam shard_map: a result is split over a mesh axis already; inside the function "
                "arrays are local");
  static_assert(is_subset(Found.varying, Declared.split_axes()),
                "kolam shard_map: a result still varies over a mesh axis that its entry in "
                "Out<...> does not split, so the ranks would return different values as one; call "
                "pmean or psum over that axis before returning it");
}

/// Global extents of local slices: sums along the axes that split each dimension.
template <Placement Declared>
Extents global_extents(Rank& rank, const Extents& local) {
  Extents global = local;
  for (int i = 0; i < local.dimensions(); ++i) {
    const Axes& axes = Declared.dimension(i);
    if (axes.empty() || rank.mesh().group_size(axes) == 1) continue;
    Kokkos::View<std::int64_t, MemorySpace> extent("kolam::shard_map::extent");
    Kokkos::deep_copy(rank.space(), extent, local[i]);
    rank.communicator().allreduce(rank.space(), {axes, "shard_map/extents"}, ReduceOperation::sum,
                                  {extent.data(), ScalarType::i64, 1});
    std::int64_t sum = 0;
    const Kokkos::View<std::int64_t, Kokkos::HostSpace, Unmanaged> host(&sum);
    Kokkos::deep_copy(rank.space(), host, extent);
    rank.space().fence();
    global.set(i, sum);
  }
  return global;
}

constexpr Placement with_reduced(Placement placement, const Axes& reduced) {
  placement.reduced = as_set(reduced);
  return placement;
}

template <class Spec, class DataType, Placement Found>
auto publish(Rank& rank, const BasicArray<DataType, Found>& result) {
  constexpr Placement declared = placement_of<Spec>;
  check_published<declared, Found>();
  constexpr Placement to = with_reduced(declared, Found.reduced);
  const Extents global = global_extents<declared>(rank, result.extents());
  const Extents expected = local_extents(rank.mesh(), rank.rank(), declared, global);
  if (expected != result.extents()) {
    throw ShapeError(fmt::format(
        "shard_map: rank {} returned a slice {} of {}, but the mesh gives it {}; keep the slices "
        "of the inputs",
        rank.rank(), to_string(result.extents()), to_string(global), to_string(expected)));
  }
  return relabel<to>(result, global);
}

template <class Spec, class T, Placement Found>
auto publish(Rank&, const Gradients<T, Found>& gradients) {
  static_assert(placement_of<Spec> == Placement{},
                "kolam shard_map: gradients of all parameters take P<> in Out<...>");
  check_published<Placement{}, Found>();
  return gradients;
}

template <class... Specs, class... Results>
auto publish_all(Rank& rank, Out<Specs...>, const std::tuple<Results...>& results) {
  static_assert(sizeof...(Specs) == sizeof...(Results),
                "kolam shard_map: the function returns another number of results than Out<...> "
                "declares");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    // Braces: results are published in order, because publishing may communicate.
    return std::tuple{publish<Specs>(rank, std::get<I>(results))...};
  }
  (std::index_sequence_for<Specs...>{});
}

template <class Spec, class Result>
auto publish_all(Rank& rank, Out<Spec>, const Result& result) {
  return publish<Spec>(rank, result);
}

template <class OutSpecs, class Function, class... InSpecs, class... Arguments>
auto call_mapped(Rank& rank, Function& function, In<InSpecs...>, Arguments&... arguments) {
  static_assert(sizeof...(InSpecs) == sizeof...(Arguments),
                "kolam shard_map: the function is called with another number of arguments than "
                "In<...> declares");
  return publish_all(rank, OutSpecs{}, function(localize<InSpecs>(arguments)...));
}

}  // namespace detail

/// \returns a function of the same arguments. Every rank of the mesh must call it.
template <class InSpecs, class OutSpecs, class Function>
auto shard_map(Rank& rank, Function function) {
  return [&rank, function = std::move(function)](auto&&... arguments) mutable {
    return detail::call_mapped<OutSpecs>(rank, function, InSpecs{}, arguments...);
  };
}

}  // namespace kolam

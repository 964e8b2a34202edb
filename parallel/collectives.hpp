/// \file
/// The differentiable collectives `psum` and `pmean`, and `gather`.
///
/// `psum<"data">(x)` sums a value that is pending or varying over "data"; every rank gets the same
/// bits. `pmean` divides by the number of ranks and is for varying values only: the true value of
/// a pending sum is its sum. On gradients both are one collective for all parameters.
///
/// Derivative: the gradient of the ranks' losses together, i.e. the sum (mean) of the gradients
/// that reach each rank's copy of the result.
#pragma once

#include <kolam/core/array/slice_copy.hpp>
#include <kolam/core/ops/record.hpp>
#include <kolam/core/ops/scale.hpp>
#include <kolam/parallel/rank.hpp>

#include <string_view>
#include <vector>

namespace kolam {

namespace detail {

template <Axes Over, Placement From>
consteval Placement reduced_placement() {
  Placement result = From;
  result.pending = set_difference(From.pending, Over);
  result.varying = set_difference(From.varying, Over);
  result.reduced = set_union(From.reduced, Over);
  return result;
}

template <Axes Over, Placement From>
consteval void check_psum() {
  static_assert(!overlap(Over, From.split_axes()),
                "kolam psum: the array is split over this axis, so ranks hold different parts, not "
                "parts of a sum; use gather");
  static_assert(is_subset(Over, set_union(From.pending, From.varying)),
                "kolam psum: the value is already the same on every rank of this axis, so a sum "
                "would multiply it by their number; leave psum out");
}

template <Axes Over, Placement From>
consteval void check_pmean() {
  static_assert(!overlap(Over, From.split_axes()),
                "kolam pmean: the array is split over this axis, so ranks hold different parts; "
                "use gather");
  static_assert(!overlap(Over, From.pending),
                "kolam pmean: the value is a pending sum, whose true value is the sum; use psum");
  static_assert(is_subset(Over, From.varying),
                "kolam pmean: the value is already the same on every rank of this axis; leave "
                "pmean out");
}

/// The rank that a context is, for communication.
inline Rank& rank_of(RankContext& context) {
  auto* rank = dynamic_cast<Rank*>(&context);
  if (rank == nullptr) {
    throw CommunicationError(
        "a collective was called outside Session::run; arrays made without a "
        "session have no communicator");
  }
  return *rank;
}

inline void reduce_over(RankContext& context, const CollectiveId& id, ReduceOperation operation,
                        Buffer data) {
  if (context.mesh().group_size(id.axes) == 1) return;
  rank_of(context).communicator().allreduce(context.space(), id, operation, data);
}

template <Axes Over, class DataType, Placement From>
auto reduce_array(const BasicArray<DataType, From>& x, ReduceOperation operation,
                  std::string_view label) {
  using T = typename BasicArray<DataType, From>::value_type;
  RankContext& context = x.context();
  BasicArray<DataType, reduced_placement<Over, From>()> y(context, x.extents());
  const auto count = static_cast<std::int64_t>(x.view().size());
  const auto reduce = [operation, label, count, &context](const T* source, T* target) {
    const auto size = static_cast<std::size_t>(count);
    Kokkos::deep_copy(context.space(), Vector<T>(target, size), Vector<const T>(source, size));
    reduce_over(context, {Over, label}, operation, {target, scalar_type_of<T>, count});
  };
  reduce(x.view().data(), y.view().data());
  if constexpr (std::is_floating_point_v<T>) {
    ops::detail::record(
        y,
        [x, reduce, count](const auto& dy) {
          RankContext& here = x.context();
          const Block scratch = here.arena().allocate(x.local_bytes(), "a gradient to be summed");
          T* const sum = static_cast<T*>(scratch.data());
          reduce(dy.data(), sum);
          const auto target = ops::detail::gradient_target(x);
          const auto size = static_cast<std::size_t>(count);
          kernels::axpby(here.space(), T(1), Vector<const T>(sum, size), target.beta,
                         Vector<T>(target.view.data(), size));
        },
        x);
  }
  return y;
}

template <Axes Over, class T, Placement From>
auto reduce_gradients(const Gradients<T, From>& gradients, ReduceOperation operation,
                      std::string_view label) {
  constexpr Placement to = [] {
    Placement placement = reduced_placement<Over, From>();
    placement.reduced = {};
    return placement;
  }();
  Parameters<T>& parameters = gradients.parameters();
  RankContext& context = parameters.context();
  const std::int64_t count = parameters.flat_size();
  Gradients<T, to> result(parameters,
                          context.arena().allocate(count * static_cast<std::int64_t>(sizeof(T)),
                                                   "the reduced gradients"));
  kernels::copy(context.space(), Vector<const T>(gradients.flat()), result.flat());
  reduce_over(context, {Over, label}, operation, {result.flat().data(), scalar_type_of<T>, count});
  return result;
}

}  // namespace detail

template <Axes Over, class DataType, Placement From>
auto psum(const BasicArray<DataType, From>& x, std::string_view label = "psum") {
  detail::check_psum<Over, From>();
  return detail::reduce_array<Over>(x, ReduceOperation::sum, label);
}

template <Axes Over, class DataType, Placement From>
auto pmean(const BasicArray<DataType, From>& x, std::string_view label = "pmean") {
  detail::check_pmean<Over, From>();
  return detail::reduce_array<Over>(x, ReduceOperation::mean, label);
}

template <Axes Over, class T, Placement From>
auto psum(const Gradients<T, From>& gradients, std::string_view label = "gradients") {
  detail::check_psum<Over, From>();
  return detail::reduce_gradients<Over>(gradients, ReduceOperation::sum, label);
}

template <Axes Over, class T, Placement From>
auto pmean(const Gradients<T, From>& gradients, std::string_view label = "gradients") {
  detail::check_pmean<Over, From>();
  return detail::reduce_gradients<Over>(gradients, ReduceOperation::mean, label);
}

/// The whole array in host memory, row-major, on every rank. One allgather over the axes that split
/// the array; slices may be uneven. Every rank must call it.
template <class DataType, Placement Where>
auto gather(const BasicArray<DataType, Where>& array, std::string_view label = "gather") {
  static_assert(Where.pending.empty(),
                "kolam gather: the array is a pending sum; resolve it first with psum");
  static_assert(Where.varying.empty(),
                "kolam gather: the ranks hold unrelated values; reduce them, or return them from "
                "shard_map with a split placement");
  using T = std::remove_const_t<typename BasicArray<DataType, Where>::value_type>;
  constexpr Axes axes = Where.split_axes();
  RankContext& context = array.context();
  const NamedSharding sharding = array.sharding();
  const std::int64_t mine = array.local_extents().count();
  const std::int64_t block = sharding.largest_local_count(array.extents());
  const std::vector<int> group = context.mesh().group(context.rank(), axes);

  Kokkos::View<T*, MemorySpace> send("kolam::gather::send", static_cast<std::size_t>(block));
  Kokkos::View<T*, MemorySpace> receive("kolam::gather::receive",
                                        static_cast<std::size_t>(block) * group.size());
  if (mine > 0) {
    const auto size = static_cast<std::size_t>(mine);
    Kokkos::deep_copy(context.space(), Vector<T>(send.data(), size),
                      Vector<const T>(array.view().data(), size));
  }
  if constexpr (axes.empty()) {
    Kokkos::deep_copy(context.space(), receive, send);
  } else {
    detail::rank_of(context).communicator().allgather(
        context.space(), {axes, label}, {send.data(), scalar_type_of<T>, block},
        {receive.data(), scalar_type_of<T>,
         checked_product(block, static_cast<std::int64_t>(group.size()))});
  }
  const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), receive);
  Kokkos::deep_copy(context.space(), host, receive);
  context.space().fence();

  std::vector<T> whole(static_cast<std::size_t>(array.extents().count()));
  for (std::size_t i = 0; i < group.size(); ++i) {
    const T* const packed = host.data() + static_cast<std::int64_t>(i) * block;
    unpack_slice(packed, sizeof(T), array.extents(), sharding.slices(array.extents(), group[i]),
                 whole.data());
  }
  return whole;
}

namespace detail {

template <class T, Placement Where>
T host_copy(const BasicArray<T, Where>& scalar) {
  scalar.context().space().fence();
  T host{};
  const Kokkos::View<T, Kokkos::HostSpace, Unmanaged> target(&host);
  Kokkos::deep_copy(scalar.context().space(), target, scalar.view());
  scalar.context().space().fence();
  return host;
}

}  // namespace detail

/// A number on the host. Only a value that every rank has alike can be read this way.
template <class T, Placement Where>
T value(const BasicArray<T, Where>& scalar) {
  static_assert(Where.pending.empty(),
                "kolam value: the number is a pending sum; resolve it first with psum");
  static_assert(
      Where.varying.empty(),
      "kolam value: the number differs between ranks; reduce it first with pmean or psum");
  return detail::host_copy(scalar);
}

/// This rank's own part of a number, on the host; no communication. To count over many steps and
/// sum once at the end, with `sum_of_parts`.
template <class T, Placement Where>
T local_value(const BasicArray<T, Where>& scalar) {
  return detail::host_copy(scalar);
}

/// The sum of the parts that the ranks along the axes counted on their own; every rank must call it
/// and gets the same bits.
template <Axes Over, class T>
T sum_of_parts(RankContext& context, T part, std::string_view label) {
  BasicArray<T, placement_of<Pending<Over>>> scalar(context, {});
  Kokkos::deep_copy(context.space(), scalar.view(), part);
  return value(psum<Over>(scalar, label));
}

}  // namespace kolam

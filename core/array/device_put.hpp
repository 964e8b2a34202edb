/// \file
/// `device_put<P<...>>(rank, host)`: this rank's slice of host memory, copied to its device.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/array/host_tensor.hpp>
#include <kolam/core/array/slice_copy.hpp>

#include <vector>

namespace kolam {

namespace detail {

template <class T, int Dimensions>
struct PointerTo {
  using type = typename PointerTo<T*, Dimensions - 1>::type;
};
template <class T>
struct PointerTo<T, 0> {
  using type = T;
};

/// Number of dimensions that a policy names: 2 for `P<"data", none>`.
template <class Policy>
struct NamedDimensions {
  static_assert(sizeof(Policy) == 0,
                "kolam device_put: host memory is neither pending nor varying; use P<...> and name "
                "every dimension, e.g. P<\"data\", none>");
};
template <Axes... Split>
struct NamedDimensions<P<Split...>> {
  static constexpr int value = static_cast<int>(sizeof...(Split));
};

}  // namespace detail

/// Every rank passes the same global host memory and gets the slice that the policy gives it; no
/// communication. The policy names every dimension: `P<"data", none>` for a matrix split by rows,
/// `P<none, none>` for a replicated one.
/// \throws ShapeError if `host` has another number of dimensions than the policy.
template <class Policy, class T>
auto device_put(RankContext& context, const HostTensor<T>& host) {
  constexpr int dimensions = detail::NamedDimensions<Policy>::value;
  if (host.extents.dimensions() != dimensions) {
    throw ShapeError(fmt::format(
        "device_put: the host array is {}, but the policy names {} dimensions; name each one",
        to_string(host.extents), dimensions));
  }
  Array<typename detail::PointerTo<T, dimensions>::type, Policy> array(context, host.extents);
  const auto slices = array.sharding().slices(host.extents, context.rank());
  const std::int64_t count = array.local_extents().count();
  if (count == 0) return array;
  if constexpr (device_memory_is_host_accessible) {
    context.space().fence();
    pack_slice(host.data, sizeof(T), host.extents, slices, array.view().data());
  } else {
    std::vector<T> packed(static_cast<std::size_t>(count));
    pack_slice(host.data, sizeof(T), host.extents, slices, packed.data());
    Kokkos::deep_copy(
        context.space(), Vector<T>(array.view().data(), packed.size()),
        Kokkos::View<const T*, Kokkos::HostSpace, Unmanaged>(packed.data(), packed.size()));
    context.space().fence();
  }
  return array;
}

/// An array of the given global extents from this rank's slice of it in host memory: on a CPU the
/// memory itself, which must outlive the array, elsewhere a copy on the device.
/// \throws ShapeError if `local` is not this rank's slice.
template <class Policy, class T>
auto device_put_slice(RankContext& context, const HostTensor<T>& local, const Extents& global) {
  constexpr int dimensions = detail::NamedDimensions<Policy>::value;
  using Result = Array<typename detail::PointerTo<T, dimensions>::type, Policy>;
  const Extents expected =
      local_extents(context.mesh(), context.rank(), placement_of<Policy>, global);
  if (local.extents != expected) {
    throw ShapeError(fmt::format(
        "device_put_slice: the host slice is {}, but rank {} holds {} of {}; pass the rank's own "
        "slice and the global extents",
        to_string(local.extents), context.rank(), to_string(expected), to_string(global)));
  }
  if constexpr (device_memory_is_host_accessible) {
    return Result(context, global, const_cast<T*>(local.data), Block());
  } else {
    Result array(context, global);
    const auto count = static_cast<std::size_t>(expected.count());
    Kokkos::deep_copy(context.space(), Vector<T>(array.view().data(), count),
                      Kokkos::View<const T*, Kokkos::HostSpace, Unmanaged>(local.data, count));
    context.space().fence();
    return array;
  }
}

}  // namespace kolam

/// \file
/// `device_put<P<...>>(rank, host)`: this rank's slice of host memory, copied to its device.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/array/host_tensor.hpp>

#include <cstring>
#include <vector>

namespace kolam {

namespace detail {

/// Copies a slice of up to four dimensions into packed row-major memory, run by run.
template <class T>
void pack_slice(const T* source, const Extents& global,
                const std::array<Slice, Extents::max_dimensions>& slices, int dimension,
                T*& target) {
  const Slice& slice = slices[static_cast<std::size_t>(dimension)];
  std::int64_t stride = 1;
  bool rest_is_whole = true;
  for (int i = dimension + 1; i < global.dimensions(); ++i) {
    stride *= global[i];
    rest_is_whole = rest_is_whole && slices[static_cast<std::size_t>(i)].length == global[i];
  }
  if (rest_is_whole) {
    const std::int64_t count = slice.length * stride;
    if (count == 0) return;
    std::memcpy(target, source + slice.begin * stride, static_cast<std::size_t>(count) * sizeof(T));
    target += count;
    return;
  }
  for (std::int64_t i = 0; i < slice.length; ++i) {
    pack_slice(source + (slice.begin + i) * stride, global, slices, dimension + 1, target);
  }
}

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
/// 	hrows ShapeError if `host` has another number of dimensions than the policy.
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
    T* target = array.view().data();
    detail::pack_slice(host.data, host.extents, slices, 0, target);
  } else {
    std::vector<T> packed(static_cast<std::size_t>(count));
    T* target = packed.data();
    detail::pack_slice(host.data, host.extents, slices, 0, target);
    Kokkos::deep_copy(
        context.space(), Vector<T>(array.view().data(), packed.size()),
        Kokkos::View<const T*, Kokkos::HostSpace, Unmanaged>(packed.data(), packed.size()));
    context.space().fence();
  }
  return array;
}

}  // namespace kolam

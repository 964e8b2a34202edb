/// \file
/// An array over a mesh: a View of this rank's slice, its placement (type), and its mesh and global
/// extents (values).
///
/// `Array<float**, P<"data", none>>` follows Kokkos' own order: data type, then policies. Handles
/// are counted like those of a View and copying one never copies data. An Array belongs to its
/// rank: it must not be copied or destroyed on another thread, and it is empty once the rank is
/// gone (but may still be destroyed then).
#pragma once

#include <kolam/core/array/sharding.hpp>
#include <kolam/core/autodiff/tape.hpp>
#include <kolam/core/error.hpp>
#include <kolam/core/rank_context.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kolam {

namespace detail {

/// Makes a View of a data type such as `float**` over memory with the given extents.
template <class View>
View view_over(void* data, const Extents& local) {
  using Value = typename View::value_type;
  constexpr int dimensions = static_cast<int>(View::rank);
  Value* typed = static_cast<Value*>(data);
  const auto n = [&](int i) { return static_cast<std::size_t>(local[i]); };
  if constexpr (dimensions == 0) return View(typed);
  if constexpr (dimensions == 1) return View(typed, n(0));
  if constexpr (dimensions == 2) return View(typed, n(0), n(1));
  if constexpr (dimensions == 3) return View(typed, n(0), n(1), n(2));
  if constexpr (dimensions == 4) return View(typed, n(0), n(1), n(2), n(3));
}

}  // namespace detail

/// The canonical form of `Array<DataType, Policies...>`: all policies as one value.
template <class DataType, Placement Where>
class BasicArray {
 public:
  using view_type = Kokkos::View<DataType, Kokkos::LayoutRight, MemorySpace, Unmanaged>;
  using value_type = typename view_type::value_type;
  using data_type = DataType;
  static constexpr int dimensions = static_cast<int>(view_type::rank);
  static constexpr Placement placement = Where;
  static_assert(dimensions <= Extents::max_dimensions,
                "kolam: an Array has at most four dimensions");
  static_assert(!detail::uses_an_axis_twice(Where),
                "kolam: a placement uses one mesh axis twice; an axis splits one dimension, and a "
                "split axis is neither pending nor varying");

  /// An array in memory of the rank's arena, not initialized.
  BasicArray(RankContext& context, const Extents& global)
      : context_(&context),
        extents_(global),
        local_(kolam::local_extents(context.mesh(), context.rank(), Where, global)) {
    const std::int64_t bytes = local_.bytes(sizeof(value_type));
    block_ = context.arena().allocate(bytes, typed_shape());
    view_ = detail::view_over<view_type>(block_.data(), local_);
  }

  /// An array over memory that somebody else keeps alive; `block` may be empty.
  BasicArray(RankContext& context, const Extents& global, void* data, Block block, NodeId node = {})
      : context_(&context),
        extents_(global),
        local_(kolam::local_extents(context.mesh(), context.rank(), Where, global)),
        block_(std::move(block)),
        view_(detail::view_over<view_type>(data, local_)),
        node_(node) {}

  /// This rank's slice.
  const view_type& view() const { return view_; }
  /// Global extents.
  const Extents& extents() const { return extents_; }
  /// Extents of this rank's slice.
  const Extents& local_extents() const { return local_; }
  RankContext& context() const { return *context_; }
  NamedSharding sharding() const { return {context_->mesh(), PartitionSpec(Where)}; }

  /// `f32[1024@data, 784]`.
  std::string typed_shape() const {
    return kolam::typed_shape(name_of(scalar_type_of<value_type>), extents_, Where);
  }

  NodeId node() const { return node_; }
  void set_node(NodeId node) { node_ = node; }
  const Block& block() const { return block_; }
  /// Bytes of this rank's slice.
  std::int64_t local_bytes() const { return local_.bytes(sizeof(value_type)); }

 private:
  RankContext* context_;
  Extents extents_;
  Extents local_;
  Block block_;
  view_type view_;
  NodeId node_;
};

/// An array of `DataType` (`float**`) with its placement policies: `Array<float**, P<"data">>`.
template <class DataType, class... Policies>
using Array = BasicArray<DataType, placement_of<Policies...>>;

namespace detail {

template <class T>
struct IsArray : std::false_type {};
template <class DataType, Placement Where>
struct IsArray<BasicArray<DataType, Where>> : std::true_type {};

/// The same memory under another placement and other global extents; the node is kept. The caller
/// vouches that the new placement is true.
template <Placement To, class DataType, Placement From>
BasicArray<DataType, To> relabel(const BasicArray<DataType, From>& array, const Extents& global) {
  return {array.context(), global, const_cast<void*>(static_cast<const void*>(array.view().data())),
          array.block(), array.node()};
}

}  // namespace detail

template <class T>
concept AnyArray = detail::IsArray<std::remove_cvref_t<T>>::value;

/// Wraps a user's View of this rank's slice without a copy. The View must be row-major, contiguous
/// and outlive the Array.
/// \throws ShapeError if the View is not this rank's slice of an array of the given extents.
template <class... Policies, class DataType, class... Properties>
auto wrap(RankContext& context, const Kokkos::View<DataType, Properties...>& view,
          const Extents& global) {
  using View = Kokkos::View<DataType, Properties...>;
  static_assert(std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>,
                "kolam: wrap takes row-major Views; declare the View with Kokkos::LayoutRight");
  static_assert(std::is_same_v<typename View::memory_space, MemorySpace>,
                "kolam: wrap takes Views in the memory of the device that kolam computes on");
  using Result = Array<DataType, Policies...>;
  Result array(context, global, view.data(), Block());
  bool fits = global.dimensions() == Result::dimensions && view.span_is_contiguous();
  Extents found;
  for (int i = 0; i < Result::dimensions; ++i) {
    found.append(static_cast<std::int64_t>(view.extent(static_cast<std::size_t>(i))));
    fits = fits && found[i] == array.local_extents()[i];
  }
  if (!fits) {
    throw ShapeError(fmt::format(
        "wrap: the View has extents {}{}, but rank {} holds {} of {}; pass the rank's own slice, "
        "contiguous, and the global extents",
        to_string(found), view.span_is_contiguous() ? "" : " (not contiguous)", context.rank(),
        to_string(array.local_extents()), array.typed_shape()));
  }
  return array;
}

}  // namespace kolam

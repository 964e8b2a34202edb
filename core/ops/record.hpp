/// \file
/// What the files of `ops/` share: recording a result on the tape, and where gradients go.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/kernels/elementwise.hpp>

namespace kolam::ops::detail {

/// Whether somebody will ask for the gradient of this array.
template <AnyArray A>
bool needs_gradient(const A& array) {
  return array.context().tape().is_live(array.node());
}

/// Gives `result` a node and remembers how to run backwards, if any input needs a gradient.
/// `backward(dy)` receives the gradient of `result` as a View of its shape.
template <AnyArray Result, class Backward, AnyArray... Inputs>
void record(Result& result, Backward backward, const Inputs&... inputs) {
  if (!(needs_gradient(inputs) || ...)) return;
  using View = typename Result::view_type;
  using Const =
      Kokkos::View<typename View::const_data_type, Kokkos::LayoutRight, MemorySpace, Unmanaged>;
  Tape& tape = result.context().tape();
  const NodeId node = tape.add_node(result.local_bytes());
  result.set_node(node);
  tape.record(
      node, [backward = std::move(backward), local = result.local_extents()](const void* gradient) {
        backward(kolam::detail::view_over<Const>(const_cast<void*>(gradient), local));
      });
}

/// A gradient to add to: `view = beta * view + contribution`.
template <class View>
struct Target {
  View view;
  typename View::non_const_value_type beta;
};

/// Where the next contribution to the gradient of `array` goes. Ask only if `needs_gradient`.
template <AnyArray A>
Target<typename A::view_type> gradient_target(const A& array) {
  const GradientSlot slot = array.context().tape().accumulate(array.node());
  return {kolam::detail::view_over<typename A::view_type>(slot.data, array.local_extents()),
          typename A::value_type(slot.first_arrival ? 0 : 1)};
}

/// The same for an operation whose backward kernel may overwrite the gradient of its own result:
/// the memory is then passed on instead of allocated.
template <AnyArray A>
Target<typename A::view_type> gradient_target_in_place(const A& array, NodeId result) {
  const GradientSlot slot = array.context().tape().accumulate_in_place(array.node(), result);
  return {kolam::detail::view_over<typename A::view_type>(slot.data, array.local_extents()),
          typename A::value_type(slot.first_arrival ? 0 : 1)};
}

/// Adds the sum over `Missing` of the ranks' gradients `dy` to the gradient of `array`.
template <Axes Missing, AnyArray A, class Gradient>
void add_summed_gradient(const A& array, const Gradient& dy) {
  using T = typename A::value_type;
  RankContext& context = array.context();
  const std::size_t size = dy.size();
  const Block scratch = context.arena().allocate(array.local_bytes(), "a gradient to be summed");
  const Vector<T> sum(static_cast<T*>(scratch.data()), size);
  kernels::copy(context.space(), Vector<const T>(dy.data(), size), sum);
  context.sum_over(Missing, "vary_over/gradient", sum.data(), scalar_type_of<T>,
                   static_cast<std::int64_t>(size));
  const auto target = gradient_target(array);
  kernels::axpby(context.space(), T(1), Vector<const T>(sum), target.beta,
                 Vector<T>(target.view.data(), size));
}

constexpr Placement varied(Placement placement, const Axes& over) {
  placement.varying = set_union(placement.varying, over);
  return placement;
}

/// An input as it enters an operation whose result varies over `To`. Where the input itself does
/// not vary, each rank uses its own copy from here on, and the gradient of the original is the sum
/// over those copies. Parameters are exempt: `value_and_grad` returns their gradients per rank, and
/// the caller (or the automatic path) sums them once.
template <Axes To, class DataType, Placement From>
auto vary_over(const BasicArray<DataType, From>& array) {
  constexpr Axes missing = set_difference(To, From.varying);
  if constexpr (missing.empty()) {
    return array;
  } else {
    auto result = kolam::detail::relabel<varied(From, To)>(array, array.extents());
    if (needs_gradient(array) && !array.context().tape().is_leaf(array.node())) {
      record(
          result, [array](const auto& dy) { add_summed_gradient<missing>(array, dy); }, array);
    }
    return result;
  }
}

}  // namespace kolam::ops::detail

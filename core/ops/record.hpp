/// \file
/// What the files of `ops/` share: recording a result on the tape, and where gradients go.
///
/// Gradients are those of the sum of all ranks' losses with respect to this rank's own copy of a
/// value. So a value that every rank has alike may meet one that varies without any communication,
/// in either direction; only `psum` and `pmean` make ranks depend on each other, and only they sum
/// gradients again. Splitting the weights of `dense` over an axis is the one exception; see there.
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

}  // namespace kolam::ops::detail

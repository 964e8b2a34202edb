/// \file
/// `value_and_grad(model, f)`: the loss that `f` returns, and its gradients for all parameters.
///
/// The type of the loss decides what is returned:
/// - pending over the axes that split the batch (the automatic path): loss and gradients are summed
///   over those axes, all in one collective, and come back replicated;
/// - varying, inside `shard_map` (the explicit path): they come back per rank and varying, and the
///   function must say with `psum` or `pmean` what becomes of them;
/// - replicated (one device, or no split batch): nothing is to be summed.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/kernels/elementwise.hpp>
#include <kolam/core/parameters/parameters.hpp>

namespace kolam {

template <class T, Placement State>
struct ValueAndGradient {
  BasicArray<T, State> value;
  Gradients<T, State> gradients;
};

namespace detail {

template <class Loss>
consteval void check_loss() {
  static_assert(IsArray<Loss>::value && Loss::dimensions == 0,
                "kolam value_and_grad: the function must return a loss of no dimensions, e.g. that "
                "of softmax_cross_entropy");
  constexpr Placement placement = Loss::placement;
  static_assert(
      set_difference(placement.reduced, set_union(placement.varying, placement.pending)).empty(),
      "kolam value_and_grad: the loss was already reduced by psum or pmean inside the function, so "
      "gradients taken through it would be partial; return the loss as it is and reduce what "
      "value_and_grad returns");
}

/// What value_and_grad returns: pending axes are resolved, varying ones stay.
template <Placement Loss>
inline constexpr Placement resolved_state = [] {
  Placement state;
  state.varying = Loss.varying;
  return state;
}();

}  // namespace detail

/// \param model has `parameters()`, which returns a `Parameters<T>&`.
template <class Model, class Function>
auto value_and_grad(Model& model, Function&& function) {
  using Loss = std::remove_cvref_t<std::invoke_result_t<Function&>>;
  detail::check_loss<Loss>();
  using T = typename Loss::value_type;
  constexpr Placement state = detail::resolved_state<Loss::placement>;

  Parameters<T>& parameters = model.parameters();
  RankContext& context = parameters.context();
  // The loss sits behind the gradients, so that one collective sums both.
  const std::int64_t count = parameters.flat_size() + 1;
  Block block =
      context.arena().allocate(count * static_cast<std::int64_t>(sizeof(T)), "the gradients");
  T* const flat = static_cast<T*>(block.data());
  T* const total = flat + parameters.flat_size();
  {
    const Tape::Recording recording(context.tape());
    const kernels::Gemm::KeepConstants keep(context.gemm());
    parameters.register_leaves(flat);
    const Loss loss = function();
    const Block seed = context.arena().allocate(sizeof(T), "the seed of the backward pass");
    const Vector<T> one(static_cast<T*>(seed.data()), 1);
    kernels::fill(context.space(), one, T(1));
    context.tape().backward(loss.node(), one.data());
    parameters.zero_missing_gradients(flat);
    kernels::copy(context.space(), Vector<const T>(loss.view().data(), 1), Vector<T>(total, 1));
  }
  constexpr Axes pending = Loss::placement.pending;
  if constexpr (!pending.empty()) {
    context.sum_over(pending, "gradients", flat, scalar_type_of<T>, count);
  }
  return ValueAndGradient<T, state>{BasicArray<T, state>(context, {}, total, block),
                                    Gradients<T, state>(parameters, block)};
}

}  // namespace kolam

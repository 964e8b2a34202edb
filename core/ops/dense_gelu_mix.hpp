/// \file
/// `dense_gelu_mix(h, w, b, mix, form)` = (1 - mix) h + mix gelu(h w + b): the repeated block of
/// the shared-block MLP as one operation. Same values as `residual_mix(h, gelu(dense(h, w, b)),
/// mix)` within rounding, with bias, gelu and mix in one pass over memory, and one kept array less.
///
/// Derivatives, with z = h w + b and dy the gradient of the result: dz = mix dy gelu'(z),
/// dh = (1 - mix) dy + dz w^T, dw = h^T dz, db = column sums of dz.
///
/// Placement rule: rows of h may be split (data parallel); w must be square and replicated, because
/// the block adds its input to its output.
#pragma once

#include <kolam/core/kernels/bias_gelu_mix.hpp>
#include <kolam/core/ops/checks.hpp>
#include <kolam/core/ops/dense.hpp>
#include <kolam/core/ops/residual_mix.hpp>

namespace kolam::ops {

namespace detail {

template <class H, class W, class B, class Z>
void dense_gelu_mix_backward(const H& h, const W& w, const B& b, const Z& z,
                             typename H::value_type mix, GeluForm form,
                             const Matrix<const typename H::value_type>& dy) {
  using T = typename H::value_type;
  using kernels::Transpose;
  RankContext& context = h.context();
  const auto& space = context.space();
  const Block scratch = context.arena().allocate(z.local_bytes(), "the gradient of a block");
  const auto dz = kolam::detail::view_over<Matrix<T>>(scratch.data(), z.local_extents());
  const Block unused =
      needs_gradient(h) ? Block() : context.arena().allocate(h.local_bytes(), "an unused gradient");
  const auto dh =
      needs_gradient(h)
          ? gradient_target(h)
          : Target<Matrix<T>>{kolam::detail::view_over<Matrix<T>>(unused.data(), h.local_extents()),
                              T(0)};
  const Block unused_bias =
      needs_gradient(b) ? Block() : context.arena().allocate(b.local_bytes(), "an unused gradient");
  const auto db =
      needs_gradient(b)
          ? gradient_target(b)
          : Target<Vector<T>>{
                kolam::detail::view_over<Vector<T>>(unused_bias.data(), b.local_extents()), T(0)};
  kernels::bias_gelu_mix_backward(space, form, mix, Matrix<const T>(z.view()), dy, dz, dh.beta,
                                  dh.view, db.beta, db.view);
  if (needs_gradient(w)) {
    const auto target = gradient_target(w);
    context.gemm()(space, Transpose::yes, Transpose::no, T(1), Matrix<const T>(h.view()),
                   Matrix<const T>(dz), target.beta, target.view);
  }
  if (needs_gradient(h)) {
    multiply_by_weights(w, Transpose::yes, Matrix<const T>(dz), T(1), dh.view);
  }
}

}  // namespace detail

/// \throws ShapeError if the extents do not fit, ConfigurationError if mix is not in [0, 1].
template <class T, Placement H, Placement W, Placement B>
auto dense_gelu_mix(const BasicArray<T**, H>& h, const BasicArray<T**, W>& w,
                    const BasicArray<T*, B>& b, double mix, GeluForm form = GeluForm::tanh) {
  detail::check_dense_placement<H, W, B>();
  static_assert(W.split_axes().empty() && H.dimension(1).empty(),
                "kolam dense_gelu_mix: the weights are split; replicate them, or write the block "
                "with dense, gelu and residual_mix");
  detail::check_dense_shapes(h, w, b);
  if (w.extents()[0] != w.extents()[1]) {
    throw ShapeError(fmt::format("dense_gelu_mix: w is {}; a repeated block needs square weights",
                                 w.typed_shape()));
  }
  detail::check_mix("dense_gelu_mix", mix);
  constexpr Placement result_placement = detail::dense_placement<H, W, B>();

  using Result = BasicArray<T**, result_placement>;
  RankContext& context = h.context();
  Result z(context, h.extents());
  Result y(context, h.extents());
  detail::multiply_by_weights(w, kernels::Transpose::no, Matrix<const T>(h.view()), T(0), z.view());
  kernels::bias_gelu_mix_forward(context.space(), form, T(mix), Vector<const T>(b.view()), z.view(),
                                 Matrix<const T>(h.view()), y.view());
  detail::record(
      y,
      [h, w, b, z, mix, form](const Matrix<const T>& dy) {
        detail::dense_gelu_mix_backward(h, w, b, z, T(mix), form, dy);
      },
      h, w, b);
  return y;
}

}  // namespace kolam::ops

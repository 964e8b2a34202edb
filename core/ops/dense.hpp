/// \file
/// `dense(x, w, b)`: y = x w + b for x [rows, inputs], w [inputs, outputs], b [outputs].
///
/// Derivatives, with dy the gradient of y: dx = dy w^T, dw = x^T dy, db = column sums of dy.
///
/// Placement rules:
/// - rows of x may be split over any axes; y's rows are split the same way (data parallel). The
///   gradients of w and b are then pending over those axes and stay so until `value_and_grad`.
/// - outputs of w may be split (column-split): b must be split alike, and y's columns are. Where x
///   needs a gradient it is summed over those axes in the backward pass.
/// - inputs of w may be split (row-split) if the columns of x are split alike: the partial products
///   are summed over those axes before the bias is added.
#pragma once

#include <kolam/core/kernels/bias.hpp>
#include <kolam/core/ops/record.hpp>

namespace kolam::ops {

namespace detail {

template <Placement X, Placement W, Placement B>
consteval Placement dense_placement() {
  Placement result;
  result.split[0] = X.dimension(0);
  result.split[1] = W.dimension(1);
  result.varying = set_union(set_union(X.varying, W.varying), B.varying);
  result.reduced = set_union(set_union(X.reduced, W.reduced), B.reduced);
  return result;
}

template <Placement X, Placement W, Placement B>
consteval void check_dense_placement() {
  static_assert(X.pending.empty() && W.pending.empty() && B.pending.empty(),
                "kolam dense: an input is a pending sum; resolve it first with psum");
  static_assert(X.dimension(1) == W.dimension(0),
                "kolam dense: the columns of x and the rows of w are split over different axes; "
                "split both over the same axis (row-split weights) or neither");
  static_assert(W.dimension(1) == B.dimension(0),
                "kolam dense: the columns of w and the bias are split over different axes; give "
                "the bias the placement of w's columns");
  static_assert(!overlap(X.dimension(0), W.split_axes()),
                "kolam dense: the rows of x and the weights are split over the same axis; use one "
                "axis for the batch and another for the weights");
}

template <class X, class W, class B>
void check_dense_shapes(const X& x, const W& w, const B& b) {
  if (x.extents()[1] != w.extents()[0]) {
    throw ShapeError(
        fmt::format("dense: x is {} and w is {}: x has {} columns, w has {} rows; make them equal",
                    x.typed_shape(), w.typed_shape(), x.extents()[1], w.extents()[0]));
  }
  if (w.extents()[1] != b.extents()[0]) {
    throw ShapeError(fmt::format(
        "dense: w is {} and the bias is {}: w has {} columns, the bias {} elements; make them "
        "equal",
        w.typed_shape(), b.typed_shape(), w.extents()[1], b.extents()[0]));
  }
}

/// c = op(a) op(w) + beta c: parameters are the same for the whole step, and may be packed for it.
template <class W, class T>
void multiply_by_weights(const W& w, kernels::Transpose transpose_w, const Matrix<const T>& a,
                         T beta, const Matrix<T>& c) {
  RankContext& context = w.context();
  const Matrix<const T> weights(w.view());
  if (context.tape().is_leaf(w.node())) {
    context.gemm().with_parameters(context.space(), kernels::Transpose::no, transpose_w, T(1), a,
                                   weights, beta, c);
  } else {
    context.gemm()(context.space(), kernels::Transpose::no, transpose_w, T(1), a, weights, beta, c);
  }
}

/// dx, dw and db of x w + b, each where somebody needs it.
template <class X, class W, class B, class Gradient>
void dense_backward(const X& x, const W& w, const B& b, const Gradient& dy) {
  using T = typename X::value_type;
  using kernels::Transpose;
  RankContext& context = x.context();
  const auto& space = context.space();
  if (needs_gradient(b)) {
    const auto target = gradient_target(b);
    kernels::sum_rows(space, Matrix<const T>(dy), target.beta, target.view);
  }
  if (needs_gradient(w)) {
    const auto target = gradient_target(w);
    context.gemm()(space, Transpose::yes, Transpose::no, T(1), Matrix<const T>(x.view()),
                   Matrix<const T>(dy), target.beta, target.view);
  }
  if (!needs_gradient(x)) return;
  constexpr Axes summed = W::placement.dimension(1);
  const auto product = [&](const Matrix<T>& dx, T beta) {
    multiply_by_weights(w, Transpose::yes, Matrix<const T>(dy), beta, dx);
  };
  if constexpr (summed.empty()) {
    const auto target = gradient_target(x);
    product(target.view, target.beta);
  } else {
    const auto count = static_cast<std::int64_t>(x.view().size());
    const Block scratch = context.arena().allocate(x.local_bytes(), "a gradient to be summed");
    const auto partial = kolam::detail::view_over<Matrix<T>>(scratch.data(), x.local_extents());
    product(partial, T(0));
    context.sum_over(summed, "dense/dx", partial.data(), scalar_type_of<T>, count);
    const auto target = gradient_target(x);
    kernels::axpby(space, T(1), Vector<const T>(partial.data(), partial.size()), target.beta,
                   Vector<T>(target.view.data(), partial.size()));
  }
}

}  // namespace detail

/// y = x w + b. \throws ShapeError if the extents do not fit.
template <class T, Placement X, Placement W, Placement B>
auto dense(const BasicArray<T**, X>& x, const BasicArray<T**, W>& w, const BasicArray<T*, B>& b) {
  detail::check_dense_placement<X, W, B>();
  detail::check_dense_shapes(x, w, b);
  constexpr Placement result_placement = detail::dense_placement<X, W, B>();

  RankContext& context = x.context();
  const auto& space = context.space();
  BasicArray<T**, result_placement> y(context, {x.extents()[0], w.extents()[1]});
  detail::multiply_by_weights(w, kernels::Transpose::no, Matrix<const T>(x.view()), T(0), y.view());
  constexpr Axes summed = W.dimension(0);
  if constexpr (!summed.empty()) {
    context.sum_over(summed, "dense/partial products", y.view().data(), scalar_type_of<T>,
                     static_cast<std::int64_t>(y.view().size()));
  }
  kernels::add_bias(space, Vector<const T>(b.view()), y.view());
  detail::record(
      y, [x, w, b](const auto& dy) { detail::dense_backward(x, w, b, dy); }, x, w, b);
  return y;
}

}  // namespace kolam::ops

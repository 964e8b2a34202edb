/// \file
/// `residual_mix(h, update, mix)` = (1 - mix) h + mix update, element by element.
///
/// Derivatives: dh = (1 - mix) dy, dupdate = mix dy.
///
/// Placement rule: h and update are split alike; the operation is linear, so both may be pending
/// over the same axes. Where one of them varies and the other does not, the result varies.
#pragma once

#include <kolam/core/kernels/residual_mix.hpp>
#include <kolam/core/ops/checks.hpp>
#include <kolam/core/ops/record.hpp>

namespace kolam::ops {

namespace detail {

template <Placement A, Placement B>
consteval Placement elementwise_placement() {
  Placement result = A;
  result.varying = set_union(A.varying, B.varying);
  result.reduced = set_union(A.reduced, B.reduced);
  return result;
}

/// Adds `factor * dy` to the gradient of an array, if somebody needs it.
template <class A, class T>
void add_scaled_gradient(const A& array, T factor, const Matrix<const T>& dy) {
  if (!needs_gradient(array)) return;
  const auto target = gradient_target(array);
  kernels::axpby(array.context().space(), factor, Vector<const T>(dy.data(), dy.size()),
                 target.beta, Vector<T>(target.view.data(), dy.size()));
}

}  // namespace detail

/// \throws ShapeError if the extents differ, ConfigurationError if mix is not in [0, 1].
template <class T, Placement H, Placement U>
auto residual_mix(const BasicArray<T**, H>& h, const BasicArray<T**, U>& update, double mix) {
  static_assert(H.same_split(U),
                "kolam residual_mix: h and update are split over different axes; give both the "
                "same placement");
  static_assert(H.pending == U.pending,
                "kolam residual_mix: one input is a pending sum and the other is not; resolve it "
                "first with psum");
  if (h.extents() != update.extents()) {
    throw ShapeError(fmt::format("residual_mix: h is {} and update is {}; make them equal",
                                 h.typed_shape(), update.typed_shape()));
  }
  detail::check_mix("residual_mix", mix);
  constexpr Placement result_placement = detail::elementwise_placement<H, U>();
  BasicArray<T**, result_placement> y(h.context(), h.extents());
  kernels::residual_mix(h.context().space(), T(mix), Matrix<const T>(h.view()),
                        Matrix<const T>(update.view()), y.view());
  detail::record(
      y,
      [h, update, mix](const Matrix<const T>& dy) {
        detail::add_scaled_gradient(h, T(1) - T(mix), dy);
        detail::add_scaled_gradient(update, T(mix), dy);
      },
      h, update);
  return y;
}

}  // namespace kolam::ops

/// \file
/// `gelu(z)`, element by element (Hendrycks and Gimpel, arXiv:1606.08415).
///
/// `GeluForm::tanh` (default): 0.5 z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))), section 2.
/// `GeluForm::exact`: 0.5 z (1 + erf(z / sqrt(2))).
///
/// Placement rule: the result has the placement of z; z must not be a pending sum, because the sum
/// of the ranks' gelu is not the gelu of the sum.
#pragma once

#include <kolam/core/kernels/gelu.hpp>
#include <kolam/core/ops/record.hpp>

namespace kolam::ops {

template <class T, Placement Z>
BasicArray<T**, Z> gelu(const BasicArray<T**, Z>& z, GeluForm form = GeluForm::tanh) {
  static_assert(Z.pending.empty(),
                "kolam gelu: the input is a pending sum and gelu is not linear; resolve it first "
                "with psum");
  const auto& space = z.context().space();
  BasicArray<T**, Z> y(z.context(), z.extents());
  kernels::gelu_forward(space, form, Matrix<const T>(z.view()), y.view());
  detail::record(
      y,
      [z, form](const Matrix<const T>& dy) {
        const auto target = detail::gradient_target(z);
        kernels::gelu_backward(z.context().space(), form, Matrix<const T>(z.view()), dy,
                               target.beta, target.view);
      },
      z);
  return y;
}

}  // namespace kolam::ops

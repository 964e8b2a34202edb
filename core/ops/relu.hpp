/// \file
/// `relu(z)` = max(z, 0), element by element; the derivative at 0 is 0.
///
/// Placement rule: the result has the placement of z; z must not be a pending sum.
#pragma once

#include <kolam/core/kernels/relu.hpp>
#include <kolam/core/ops/record.hpp>

namespace kolam::ops {

template <class T, Placement Z>
BasicArray<T**, Z> relu(const BasicArray<T**, Z>& z) {
  static_assert(Z.pending.empty(),
                "kolam relu: the input is a pending sum and relu is not linear; resolve it first "
                "with psum");
  BasicArray<T**, Z> y(z.context(), z.extents());
  kernels::relu_forward(z.context().space(), Matrix<const T>(z.view()), y.view());
  detail::record(
      y,
      [z](const Matrix<const T>& dy) {
        const auto target = detail::gradient_target(z);
        kernels::relu_backward(z.context().space(), Matrix<const T>(z.view()), dy, target.beta,
                               target.view);
      },
      z);
  return y;
}

}  // namespace kolam::ops

/// \file
/// ReLU over a matrix: max(z, 0), with derivative 0 at 0; NaN stays NaN.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

namespace kolam::kernels {

/// y = max(z, 0); y and z contiguous, of the same extents.
template <class T>
void relu_forward(const ExecutionSpace& space, Matrix<const T> z, Matrix<T> y);

/// dz = beta dz + (z > 0 ? dy : 0). beta 0 does not read dz, which may then be dy itself.
template <class T>
void relu_backward(const ExecutionSpace& space, Matrix<const T> z, Matrix<const T> dy, T beta,
                   Matrix<T> dz);

}  // namespace kolam::kernels

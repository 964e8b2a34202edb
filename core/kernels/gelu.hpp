/// \file
/// GELU over a matrix, in both forms (Hendrycks and Gimpel, arXiv:1606.08415, section 2).
#pragma once

#include <kolam/core/kernels/gelu_math.hpp>

namespace kolam::kernels {

/// y = gelu(z), element by element; y and z contiguous, of the same extents.
template <class T>
void gelu_forward(const ExecutionSpace& space, GeluForm form, Matrix<const T> z, Matrix<T> y);

/// dz = beta dz + dy gelu'(z). beta 0 does not read dz, which may then be dy itself.
template <class T>
void gelu_backward(const ExecutionSpace& space, GeluForm form, Matrix<const T> z,
                   Matrix<const T> dy, T beta, Matrix<T> dz);

}  // namespace kolam::kernels

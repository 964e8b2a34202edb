/// \file
/// The residual mix of two matrices.
#pragma once

#include <kolam/core/kernels/elementwise.hpp>

namespace kolam::kernels {

/// out = (1 - mix) h + mix update, element by element; all contiguous, of the same extents.
template <class T>
void residual_mix(const ExecutionSpace& space, T mix, Matrix<const T> h, Matrix<const T> update,
                  Matrix<T> out);

}  // namespace kolam::kernels

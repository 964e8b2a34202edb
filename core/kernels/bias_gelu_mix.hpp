/// \file
/// What follows the GEMM in a repeated block, in one pass over memory: bias, GELU, residual mix;
/// and backwards, with the bias gradient in the same pass. All matrices contiguous, of the same
/// extents.
#pragma once

#include <kolam/core/kernels/gelu_math.hpp>

namespace kolam::kernels {

/// z += bias (row by row; z holds the product before and the pre-activation after), and
/// out = (1 - mix) h + mix gelu(z).
template <class T>
void bias_gelu_mix_forward(const ExecutionSpace& space, GeluForm form, T mix, Vector<const T> bias,
                           Matrix<T> z, Matrix<const T> h, Matrix<T> out);

/// dz = mix dout gelu'(z), dh = beta dh + (1 - mix) dout, dbias = beta_bias dbias + sums of dz over
/// the rows in order. A beta of 0 does not read its target. dz, dh and dout do not overlap.
template <class T>
void bias_gelu_mix_backward(const ExecutionSpace& space, GeluForm form, T mix, Matrix<const T> z,
                            Matrix<const T> dout, Matrix<T> dz, T beta, Matrix<T> dh, T beta_bias,
                            Vector<T> dbias);

}  // namespace kolam::kernels

/// \file
/// The bias of a dense layer, and the sums over rows that are its gradient.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

namespace kolam::kernels {

/// y[i, j] += bias[j].
template <class T>
void add_bias(const ExecutionSpace& space, Vector<const T> bias, Matrix<T> y);

/// out[j] = beta out[j] + sum_i dy[i, j], added over the rows in order. beta 0 does not read out.
template <class T>
void sum_rows(const ExecutionSpace& space, Matrix<const T> dy, T beta, Vector<T> out);

}  // namespace kolam::kernels

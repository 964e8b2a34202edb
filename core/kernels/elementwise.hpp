/// \file
/// Passes over memory that have no room of their own: fill, copy, scaled sums.
///
/// T is float or double. With beta 0 the target is not read, so it may hold anything, NaN too.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>

namespace kolam::kernels {

/// v[i] = value.
template <class T>
void fill(const ExecutionSpace& space, Vector<T> v, T value);

/// target[i] = source[i]; the extents are equal and the two do not overlap.
template <class T>
void copy(const ExecutionSpace& space, Vector<const T> source, Vector<T> target);

/// y = alpha x + beta y.
template <class T>
void axpby(const ExecutionSpace& space, T alpha, Vector<const T> x, T beta, Vector<T> y);

/// c = beta c, row by row; rows may be further apart than their length.
template <class T>
void scale_matrix(const ExecutionSpace& space, T beta, Matrix<T> c);

/// target = factor * T(count).
template <class T>
void convert_scaled(const ExecutionSpace& space, ScalarView<const std::int64_t> count, T factor,
                    ScalarView<T> target);

}  // namespace kolam::kernels

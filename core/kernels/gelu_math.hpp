/// \file
/// GELU and its derivative for one element, in both forms, without branches.
#pragma once

#include <kolam/core/kernels/vector_math.hpp>

namespace kolam {

/// Which definition of GELU: the tanh form (default, as in most models) or the exact one.
enum class GeluForm { tanh, exact };

namespace kernels {

/// 0.5 z (1 + tanh(u)) with u = sqrt(2/pi) (z + 0.044715 z^3) is z times the logistic function of
/// 2u, which has no cancellation where tanh is near -1.
struct TanhGelu {
  template <class T>
  KOKKOS_INLINE_FUNCTION static T inner(T z) {
    return T(0.79788456080286535588) * (z + T(0.044715) * z * z * z);
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static T value(T z) {
    return z / (T(1) + bounded_exp(T(-2) * inner(z)));
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static T derivative(T z) {
    const T e = bounded_exp(T(-2) * inner(z));
    const T s = T(1) / (T(1) + e);
    const T slope = T(1.59576912160573071176) * (T(1) + T(0.134145) * z * z);
    return s + z * s * (e * s) * slope;
  }
};

/// 0.5 z (1 + erf(z / sqrt(2))) as 0.5 z erfc(-z / sqrt(2)), again without cancellation.
struct ExactGelu {
  template <class T>
  KOKKOS_INLINE_FUNCTION static T distribution(T z) {
    const T x = T(0.70710678118654752440) * z;
    const T half = T(0.5) * erfc_of_positive(x < T(0) ? -x : x);
    return x < T(0) ? half : T(1) - half;
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static T value(T z) {
    return z * distribution(z);
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static T derivative(T z) {
    return distribution(z) + z * T(0.39894228040143267794) * bounded_exp(T(-0.5) * z * z);
  }
};

}  // namespace kernels
}  // namespace kolam

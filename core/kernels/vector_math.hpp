/// \file
/// exp and erfc without branches or calls, so that loops over them vectorise.
/// `std::exp` and `std::tanh` do not, and cost more than the GEMM they follow.
///
/// exp: reduction to |r| <= ln(2)/2 by Cody and Waite's two-part ln(2) (Software Manual for the
/// Elementary Functions, 1980, ch. 6), then the Taylor polynomial of degree 7 (f32) or 13 (f64),
/// whose remainder is below the rounding error.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>

namespace kolam::kernels {

namespace detail {

/// Adding 1.5 * 2^23 (2^52) rounds to an integer n and leaves n in the low bits of the sum; these
/// turn that sum into 2^n by writing the exponent bits. No conversion to integer: AVX2 has none for
/// doubles, and a NaN may not be converted.
KOKKOS_INLINE_FUNCTION float power_of_two_from_shifted(float shifted) {
  union {
    float value;
    std::uint32_t bits;
  } word;
  word.value = shifted;
  word.bits = (word.bits - 0x4B400000u + 127u) << 23;
  return word.value;
}

KOKKOS_INLINE_FUNCTION double power_of_two_from_shifted(double shifted) {
  union {
    double value;
    std::uint64_t bits;
  } word;
  word.value = shifted;
  word.bits = (word.bits - 0x4338000000000000ull + 1023ull) << 52;
  return word.value;
}

}  // namespace detail

/// e^x for |x| up to 87; beyond, the value at the bound (1.6e-38 or 6.1e37). NaN stays NaN.
KOKKOS_INLINE_FUNCTION float bounded_exp(float x) {
  x = x > 87.0f ? 87.0f : x;
  x = x < -87.0f ? -87.0f : x;
  const float shift = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x * 1.44269504088896341f + shift;
  const float n = shifted - shift;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * detail::power_of_two_from_shifted(shifted);
}

/// e^x for |x| up to 700; beyond, the value at the bound. NaN stays NaN.
KOKKOS_INLINE_FUNCTION double bounded_exp(double x) {
  x = x > 700.0 ? 700.0 : x;
  x = x < -700.0 ? -700.0 : x;
  const double shift = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = x * 1.44269504088896338700 + shift;
  const double n = shifted - shift;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return p * detail::power_of_two_from_shifted(shifted);
}

namespace detail {

/// Horner's scheme, the highest coefficient first.
template <class T, int N>
KOKKOS_INLINE_FUNCTION T polynomial(T x, const double (&coefficients)[N]) {
  T value = T(coefficients[0]);
  for (int i = 1; i < N; ++i) value = value * x + T(coefficients[i]);
  return value;
}

}  // namespace detail

/// erfc(x) for x >= 0 by W. J. Cody's rational approximations (Mathematics of Computation 23, 1969,
/// p. 631): three ranges, all computed, one selected, so that loops vectorise. Beyond the bound of
/// `bounded_exp` it stays at a value near zero. NaN stays NaN.
template <class T>
KOKKOS_INLINE_FUNCTION T erfc_of_positive(T x) {
  constexpr double a[] = {1.85777706184603153e-1, 3.16112374387056560e+0, 1.13864154151050156e+2,
                          3.77485237685302021e+2, 3.20937758913846947e+3};
  constexpr double b[] = {1.0, 2.36012909523441209e+1, 2.44024637934444173e+2,
                          1.28261652607737228e+3, 2.84423683343917062e+3};
  constexpr double c[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e+0,
                          6.61191906371416295e+1, 2.98635138197400131e+2, 8.81952221241769090e+2,
                          1.71204761263407058e+3, 2.05107837782607147e+3, 1.23033935479799725e+3};
  constexpr double d[] = {1.0,
                          1.57449261107098347e+1,
                          1.17693950891312499e+2,
                          5.37181101862009858e+2,
                          1.62138957456669019e+3,
                          3.29079923573345963e+3,
                          4.36261909014324716e+3,
                          3.43936767414372164e+3,
                          1.23033935480374942e+3};
  constexpr double p[] = {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                          1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4};
  constexpr double q[] = {1.0,
                          2.56852019228982242e+0,
                          1.87295284992346725e+0,
                          5.27905102951428412e-1,
                          6.05183413124413191e-2,
                          2.33520497626869185e-3};
  // Each argument is kept within its own range, or the unused ones would overflow.
  const T low = x > T(0.46875) ? T(0.46875) : x;
  const T middle = x > T(4) ? T(4) : x;
  const T high = x > T(4) ? x : T(4);
  const T small = T(1) - low * detail::polynomial(low * low, a) / detail::polynomial(low * low, b);
  const T tail = bounded_exp(-x * x);
  const T medium = tail * detail::polynomial(middle, c) / detail::polynomial(middle, d);
  const T y = T(1) / (high * high);
  const T large =
      tail / high *
      (T(0.56418958354775628695) - y * detail::polynomial(y, p) / detail::polynomial(y, q));
  const T beyond = x > T(4) ? large : medium;
  // Written so that a NaN falls through to an arm that carries it.
  return x > T(0.46875) ? beyond : small;
}

}  // namespace kolam::kernels

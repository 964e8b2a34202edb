/// \file
/// exp and the logistic function without branches or calls, so that loops over them vectorise.
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

}  // namespace kolam::kernels

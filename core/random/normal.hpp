/// \file
/// Standard normal random numbers as a pure function of (seed, stream, index), on host and device.
///
/// Box-Muller on two 53-bit uniforms from one Philox4x32-10 call: z = sqrt(-2 ln u) cos(2 pi v)
/// with u in (0, 1] and v in [0, 1), so every value is finite and at most 8.6 in magnitude.
/// `stream` separates uses of one seed (one stream per parameter, say); `index` is the element's
/// global index. Source: Box and Muller (1958), doi:10.1214/aoms/1177706645.
#pragma once

#include <kolam/core/kokkos_compat.hpp>
#include <kolam/core/random/philox.hpp>

#include <cstdint>

namespace kolam::random {

/// One sample of the normal distribution with mean 0 and variance 1.
KOKKOS_INLINE_FUNCTION double standard_normal(std::uint64_t seed, std::uint64_t stream,
                                              std::uint64_t index) {
  constexpr double ulp = 1.0 / 9007199254740992.0;  // 2^-53
  constexpr double two_pi = 6.283185307179586476925286766559;
  const PhiloxBlock bits = philox4x32(
      PhiloxBlock{{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                   static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
      philox_key(seed));
  const std::uint64_t first = (std::uint64_t{bits[1]} << 32 | bits[0]) >> 11;
  const std::uint64_t second = (std::uint64_t{bits[3]} << 32 | bits[2]) >> 11;
  const double u = static_cast<double>(first + 1) * ulp;
  const double v = static_cast<double>(second) * ulp;
  return compat::math::sqrt(-2.0 * compat::math::log(u)) * compat::math::cos(two_pi * v);
}

}  // namespace kolam::random

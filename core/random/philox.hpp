/// \file
/// Philox4x32-10, the counter-based random number generator: 128 random bits as a pure function of
/// a 128-bit counter and a 64-bit key, on host and device alike.
///
/// Nothing is carried from one call to the next, so a value belongs to an element's global index
/// and never depends on the number of devices. Source: Salmon, Moraes, Dror and Shaw, "Parallel
/// random numbers: as easy as 1, 2, 3" (SC11); the values equal those of their Random123 library.
#pragma once

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace kolam::random {

/// Four 32-bit words: a counter, or the random bits made from it.
struct PhiloxBlock {
  std::uint32_t words[4];

  KOKKOS_INLINE_FUNCTION constexpr std::uint32_t operator[](int i) const { return words[i]; }
};

/// Two 32-bit words that choose one of 2^64 independent sequences.
struct PhiloxKey {
  std::uint32_t words[2];
};

/// A 64-bit seed as a key, the low word first.
KOKKOS_INLINE_FUNCTION constexpr PhiloxKey philox_key(std::uint64_t seed) {
  return PhiloxKey{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

/// 128 random bits: ten rounds of Philox4x32.
KOKKOS_INLINE_FUNCTION constexpr PhiloxBlock philox4x32(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter.words[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter.words[2];
    counter =
        PhiloxBlock{{static_cast<std::uint32_t>(second >> 32) ^ counter.words[1] ^ key.words[0],
                     static_cast<std::uint32_t>(second),
                     static_cast<std::uint32_t>(first >> 32) ^ counter.words[3] ^ key.words[1],
                     static_cast<std::uint32_t>(first)}};
    key.words[0] += 0x9E3779B9U;
    key.words[1] += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace kolam::random

/// \file
/// Pixels as floats: T(pixel) / T(255), in a loop that vectorises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kolam::data {

/// Writes as many floats as there are pixels.
template <class T>
void convert_pixels(std::span<const std::uint8_t> pixels, T* __restrict values) {
  const std::uint8_t* const from = pixels.data();
  const std::size_t count = pixels.size();
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(from[i]) / T(255);
}

}  // namespace kolam::data

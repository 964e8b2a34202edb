/// \file
/// Size arithmetic of collectives: cutting a count into calls that a library can take, and bytes
/// without overflow.
#pragma once

#include <fmt/format.h>
#include <kolam/core/array/extents.hpp>
#include <kolam/core/error.hpp>
#include <kolam/core/scalar_type.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kolam {

/// Elements `[offset, offset + length)` of a longer buffer.
struct Chunk {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  bool operator==(const Chunk&) const = default;
};

/// Cuts `count` elements into consecutive chunks of at most `largest`: 21 by 8 gives 8, 8, 5. For
/// libraries whose count is a 32-bit integer. A count of zero gives no chunk.
/// \throws ShapeError for a negative count.
/// \throws ConfigurationError if `largest` is below 1.
inline std::vector<Chunk> chunks(std::int64_t count, std::int64_t largest) {
  if (count < 0) throw ShapeError(fmt::format("a count must not be negative, found {}", count));
  if (largest < 1) {
    throw ConfigurationError(
        fmt::format("the largest count of one call is {}; expected at least 1", largest));
  }
  std::vector<Chunk> result;
  for (std::int64_t offset = 0; offset < count;) {
    const std::int64_t length = std::min(largest, count - offset);
    result.push_back({offset, length});
    offset += length;
  }
  return result;
}

/// Bytes of `count` elements.
/// \throws ShapeError for a negative count, or if the bytes do not fit a signed 64-bit integer.
inline std::int64_t byte_count(std::int64_t count, ScalarType type) {
  if (count < 0) throw ShapeError(fmt::format("a count must not be negative, found {}", count));
  return checked_product(count, static_cast<std::int64_t>(size_of(type)));
}

}  // namespace kolam

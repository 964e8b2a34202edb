/// \file
/// The reduction that every rank does for its share of the elements.
///
/// For n buffers the tree is: reduce(first, n) = reduce(first, p) + reduce(first + p, n - p), with
/// p the largest power of two below n. So a power of two of ranks gives the plain binary tree, and
/// the bits depend on the order of the ranks only, never on how elements are shared out.
///
/// Integer sums wrap around. The minimum and the maximum of anything with a NaN is a NaN.
#pragma once

#include <kolam/parallel/communicator.hpp>

#include <cstdint>
#include <span>

namespace kolam::collective {

/// Reduces the elements `[source_offset, source_offset + count)` of all sources and writes the
/// result to every target from `target_offset` on. A target may be a source if the offsets are
/// equal. At most 4096 sources.
void reduce(ScalarType type, ReduceOperation operation, std::span<const void* const> sources,
            std::int64_t source_offset, std::span<void* const> targets, std::int64_t target_offset,
            std::int64_t count) noexcept;

/// Elements that one rank reduces.
struct Share {
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

/// The share of rank `index` of `size`: whole cache lines, the first ranks one more.
Share share_of(std::int64_t count, ScalarType type, int index, int size);

}  // namespace kolam::collective

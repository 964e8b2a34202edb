/// \file
/// How kernels cover an index range: one 64-bit index, in an execution space instance.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>

namespace kolam::kernels {

/// 64-bit, because an array may have more than 2^31 elements.
inline auto range(const ExecutionSpace& space, std::int64_t count) {
  return Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(space, 0, count);
}

/// Kernels that add down the rows give each index a block of columns: wide on a CPU, where a core
/// streams along rows and keeps the sums in its first-level cache; one column on a GPU, where
/// neighbouring threads read neighbouring columns. Each sum runs over the rows in order.
inline constexpr std::int64_t column_block = device_memory_is_host_accessible ? 256 : 1;

inline std::int64_t column_blocks(std::int64_t columns) {
  return (columns + column_block - 1) / column_block;
}

}  // namespace kolam::kernels

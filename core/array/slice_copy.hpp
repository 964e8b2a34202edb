/// \file
/// Copies between a global row-major array in host memory and one packed slice of it.
#pragma once

#include <kolam/core/array/sharding.hpp>

#include <array>
#include <cstddef>

namespace kolam {

/// One slice per dimension; those beyond the array's dimensions are not read.
using Slices = std::array<Slice, Extents::max_dimensions>;

/// Copies the slice into packed memory. Sizes in bytes follow from `element_size`.
void pack_slice(const void* global_data, std::size_t element_size, const Extents& global,
                const Slices& slices, void* packed);

/// Copies packed memory back into its place in the global array.
void unpack_slice(const void* packed, std::size_t element_size, const Extents& global,
                  const Slices& slices, void* global_data);

}  // namespace kolam

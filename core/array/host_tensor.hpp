/// \file
/// A borrowed block of host memory with extents: what data sets hand out and `device_put` takes.
#pragma once

#include <kolam/core/array/extents.hpp>

namespace kolam {

/// Row-major host memory that somebody else owns. Plain pointer and extents, so that it may cross
/// threads freely (a Kokkos View may not: its reference count is not atomic in every build).
template <class T>
struct HostTensor {
  const T* data = nullptr;
  Extents extents;
};

}  // namespace kolam

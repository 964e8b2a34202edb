/// \file
/// All differences between Kokkos versions (3.4 to 5.x), and the one choice of device.
///
/// The library is compiled for one kind of device: Kokkos' default execution space. Kernels take an
/// instance of it first. Views are row-major (`LayoutRight`) on every device, so that a slice of
/// the batch is one block of memory.
#pragma once

#include <Kokkos_Core.hpp>

#include <string>

namespace kolam {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;

/// True where the device's memory can be read by the host directly.
inline constexpr bool device_memory_is_host_accessible =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

/// Borrowed device memory of the shapes that kernels take. A kernel never owns what it works on.
using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace, Unmanaged>;
template <class T>
using Vector = Kokkos::View<T*, Kokkos::LayoutRight, MemorySpace, Unmanaged>;
template <class T>
using ScalarView = Kokkos::View<T, Kokkos::LayoutRight, MemorySpace, Unmanaged>;

namespace compat {

/// Math functions that run on the device; they moved out of `Experimental` in Kokkos 3.7.
#if KOKKOS_VERSION >= 30700
namespace math = Kokkos;
#else
namespace math = Kokkos::Experimental;
#endif

/// `3.4.1`.
inline std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100);
}

/// Starts Kokkos for one host thread per rank. The caller checks `Kokkos::is_initialized()` first:
/// 3.4 starts twice silently, 4.x aborts.
inline void initialize_kokkos() {
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
}

inline bool kokkos_is_initialized() {
  return Kokkos::is_initialized();
}

/// An execution space instance for one rank. Host ranks of Kokkos 4.4 and newer need one each,
/// because every kernel there holds its instance's mutex.
inline ExecutionSpace rank_instance() {
#if KOKKOS_VERSION >= 40400
  return Kokkos::Experimental::partition_space(ExecutionSpace(), 1)[0];
#else
  return ExecutionSpace();
#endif
}

}  // namespace compat
}  // namespace kolam

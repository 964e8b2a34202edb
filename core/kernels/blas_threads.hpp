/// \file
/// One BLAS and OpenMP thread per rank, and the name of the BLAS that was loaded.
#pragma once

#include <string>

namespace kolam::kernels {

/// To be called on each rank's thread: OpenMP's number of threads belongs to the calling thread,
/// OpenBLAS' to the process. A rank is a core, so more threads would only fight over it.
void use_one_blas_thread();

/// What is known about the BLAS behind Kokkos Kernels, e.g. `OpenBLAS 0.3.21 ... (Haswell)`.
std::string blas_library();

}  // namespace kolam::kernels

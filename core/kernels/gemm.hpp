/// \file
/// Matrix product on one device, with the backend chosen at build and at run time.
///
/// Kokkos Kernels is always there, carries f64 and is the reference in tests. oneDNN (f32 on CPUs,
/// where it was found) is the default for f32: Debian's BLAS does not know recent processors.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace kolam::kernels {

enum class GemmBackend { kokkos_kernels, onednn };
enum class Transpose { no, yes };

/// `kokkos-kernels`, `onednn`: the names that `KOLAM_GEMM` takes.
std::string_view name_of(GemmBackend backend);

/// Backends of this build, the default one first.
std::vector<GemmBackend> available_gemm_backends();

/// The default, or what the environment variable `KOLAM_GEMM` names.
/// \throws ConfigurationError if `KOLAM_GEMM` names no backend of this build.
GemmBackend choose_gemm_backend();

class OneDnnGemm;

/// One rank's handle: it keeps primitives and scratch memory by shape, so that a product of a known
/// shape allocates nothing. To be used on one thread.
class Gemm {
 public:
  /// \throws ConfigurationError if this build lacks the backend.
  explicit Gemm(GemmBackend preferred);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// The backend that products of `T` take.
  template <class T>
  GemmBackend backend_for() const;

  /// c = alpha op(a) op(b) + beta c, with op(a) [m, k], op(b) [k, n], c [m, n]. Rows are contiguous
  /// and may be further apart than their length. beta 0 does not read c.
  /// \throws ShapeError if the extents do not fit.
  template <class T>
  void operator()(const ExecutionSpace& space, Transpose transpose_a, Transpose transpose_b,
                  T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);

 private:
  GemmBackend preferred_;
  std::unique_ptr<OneDnnGemm> onednn_;
};

/// Measured rate of an n x n x n product in GFLOP/s, on the calling thread.
template <class T>
double measure_gemm_gflops(Gemm& gemm, std::int64_t n);

}  // namespace kolam::kernels

/// \file
/// Matrix product on one device, with the backend chosen at build and at run time.
///
/// Kokkos Kernels is always there, carries f64 and is the reference in tests. oneDNN (f32 on CPUs,
/// where it was found) is the default for f32: Debian's BLAS does not know recent processors.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kolam::kernels {

enum class GemmBackend { kokkos_kernels, onednn };
enum class Transpose { no, yes };

/// `kokkos-kernels`, `onednn`: the names that `KOLAM_GEMM` takes.
std::string_view name_of(GemmBackend backend);

/// Backends of this build, the default one first.
std::vector<GemmBackend> available_gemm_backends();

/// A backend and why it was taken: `measured 112 GFLOP/s ...`.
struct GemmChoice {
  GemmBackend backend = GemmBackend::kokkos_kernels;
  std::string reason;
};

/// What the environment variable `KOLAM_GEMM` names; without it the default backend, unless a short
/// measurement (a few milliseconds, on a thread of its own) finds another one much faster. Much, so
/// that two runs on one machine take the same backend and give the same bits.
/// \throws ConfigurationError if `KOLAM_GEMM` names no backend of this build.
GemmChoice choose_gemm_backend();

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

  /// The same for parameters b whose memory does not change while constants are kept: a backend may
  /// then bring b into its own layout when it is used for the second time, and use that from then
  /// on. A weight that a repeated block uses 128 times is worth it.
  template <class T>
  void with_parameters(const ExecutionSpace& space, Transpose transpose_a, Transpose transpose_b,
                       T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);

  /// While it lives, parameters do not change.
  class KeepConstants {
   public:
    explicit KeepConstants(Gemm& gemm);
    ~KeepConstants();
    KeepConstants(const KeepConstants&) = delete;
    KeepConstants& operator=(const KeepConstants&) = delete;

   private:
    Gemm& gemm_;
  };

 private:
  template <class T>
  void multiply(const ExecutionSpace& space, Transpose transpose_a, Transpose transpose_b, T alpha,
                const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c,
                bool b_is_kept);

  bool keeps_constants_ = false;
  GemmBackend preferred_;
  std::unique_ptr<OneDnnGemm> onednn_;
};

/// Measured rate of an n x n x n product in GFLOP/s, on the calling thread.
template <class T>
double measure_gemm_gflops(Gemm& gemm, std::int64_t n);

}  // namespace kolam::kernels

/// \file
/// f32 products through oneDNN's `matmul`, one primitive per shape, kept.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>
#include <memory>

namespace kolam::kernels {

#ifdef KOLAM_HAS_ONEDNN
inline constexpr bool onednn_is_built_in = true;
#else
inline constexpr bool onednn_is_built_in = false;
#endif

/// Everything that a primitive is made for: c [m, n] = alpha op(a) op(b) + beta c.
struct ProductShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  /// Elements between the starts of two stored rows.
  std::int64_t row_stride_a = 0;
  std::int64_t row_stride_b = 0;
  std::int64_t row_stride_c = 0;
  float alpha = 1;
  float beta = 0;

  bool operator==(const ProductShape&) const = default;
};

/// One rank's primitives; to be used on one thread.
class OneDnnGemm {
 public:
  OneDnnGemm();
  ~OneDnnGemm();
  OneDnnGemm(const OneDnnGemm&) = delete;
  OneDnnGemm& operator=(const OneDnnGemm&) = delete;

  /// \param b_is_kept whether b is the same until `forget_packed`: from its second use on it is
  ///   packed into oneDNN's own layout.
  /// \throws Error if oneDNN refuses the shape.
  void operator()(const ExecutionSpace& space, const ProductShape& shape, const float* a,
                  const float* b, float* c, bool b_is_kept = false);
  /// What was packed is out of date; its memory is kept for the next time.
  void forget_packed();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kolam::kernels

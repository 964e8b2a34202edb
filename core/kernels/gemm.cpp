#include <kolam/core/kernels/gemm.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>
#include <kolam/core/kernels/blas_threads.hpp>
#include <kolam/core/kernels/elementwise.hpp>
#include <kolam/core/kernels/gemm_onednn.hpp>

#include <KokkosBlas3_gemm.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>

namespace kolam::kernels {

std::string_view name_of(GemmBackend backend) {
  return backend == GemmBackend::onednn ? "onednn" : "kokkos-kernels";
}

std::vector<GemmBackend> available_gemm_backends() {
  if constexpr (onednn_is_built_in && device_memory_is_host_accessible) {
    return {GemmBackend::onednn, GemmBackend::kokkos_kernels};
  }
  return {GemmBackend::kokkos_kernels};
}

namespace {

struct Shape {
  std::int64_t m, n, k;
};

template <class V>
std::int64_t extent(const V& view, int dimension) {
  return static_cast<std::int64_t>(view.extent(static_cast<std::size_t>(dimension)));
}

template <class T>
Shape checked_shape(Transpose transpose_a, Transpose transpose_b, const Matrix<const T>& a,
                    const Matrix<const T>& b, const Matrix<T>& c) {
  const bool a_turned = transpose_a == Transpose::yes;
  const bool b_turned = transpose_b == Transpose::yes;
  const Shape shape{extent(c, 0), extent(c, 1), extent(a, a_turned ? 0 : 1)};
  if (extent(a, a_turned ? 1 : 0) == shape.m && extent(b, b_turned ? 0 : 1) == shape.n &&
      extent(b, b_turned ? 1 : 0) == shape.k) {
    return shape;
  }
  throw ShapeError(fmt::format(
      "gemm: a [{}, {}]{} times b [{}, {}]{} does not give c [{}, {}]; make the extents fit",
      extent(a, 0), extent(a, 1), a_turned ? " transposed" : "", extent(b, 0), extent(b, 1),
      b_turned ? " transposed" : "", shape.m, shape.n));
}

template <class T>
void kokkos_kernels_gemm(const ExecutionSpace& space, Transpose transpose_a, Transpose transpose_b,
                         T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                         const Matrix<T>& c, const Shape& shape) {
  if (std::max({shape.m, shape.n, shape.k}) > std::numeric_limits<int>::max()) {
    throw ShapeError(fmt::format("gemm: an extent of {} x {} x {} is beyond BLAS' 32-bit integers",
                                 shape.m, shape.n, shape.k));
  }
  const auto letter = [](Transpose transpose) { return transpose == Transpose::yes ? "T" : "N"; };
#if KOKKOS_VERSION >= 30600
  KokkosBlas::gemm(space, letter(transpose_a), letter(transpose_b), alpha, a, b, beta, c);
#else
  (void)space;
  KokkosBlas::gemm(letter(transpose_a), letter(transpose_b), alpha, a, b, beta, c);
#endif
}

}  // namespace

Gemm::Gemm(GemmBackend preferred) : preferred_(preferred) {
  const std::vector<GemmBackend> available = available_gemm_backends();
  if (std::find(available.begin(), available.end(), preferred) == available.end()) {
    throw ConfigurationError(fmt::format(
        "this build has no GEMM backend {}; build it with oneDNN (libdnnl-dev), or take "
        "kokkos-kernels",
        name_of(preferred)));
  }
  if (preferred == GemmBackend::onednn) onednn_ = std::make_unique<OneDnnGemm>();
}

Gemm::~Gemm() = default;

template <class T>
GemmBackend Gemm::backend_for() const {
  return std::is_same_v<T, float> ? preferred_ : GemmBackend::kokkos_kernels;
}

template <class T>
void Gemm::operator()(const ExecutionSpace& space, Transpose transpose_a, Transpose transpose_b,
                      T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  multiply(space, transpose_a, transpose_b, alpha, a, b, beta, c, false);
}

template <class T>
void Gemm::with_parameters(const ExecutionSpace& space, Transpose transpose_a,
                           Transpose transpose_b, T alpha, Matrix<const T> a, Matrix<const T> b,
                           T beta, Matrix<T> c) {
  multiply(space, transpose_a, transpose_b, alpha, a, b, beta, c, keeps_constants_);
}

Gemm::KeepConstants::KeepConstants(Gemm& gemm) : gemm_(gemm) {
  if (gemm_.onednn_) gemm_.onednn_->forget_packed();
  gemm_.keeps_constants_ = true;
}

Gemm::KeepConstants::~KeepConstants() {
  gemm_.keeps_constants_ = false;
}

template <class T>
void Gemm::multiply(const ExecutionSpace& space, Transpose transpose_a, Transpose transpose_b,
                    T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                    const Matrix<T>& c, bool b_is_kept) {
  const Shape shape = checked_shape(transpose_a, transpose_b, a, b, c);
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {
    // An empty sum: backends differ in whether they touch c at all.
    scale_matrix(space, beta, c);
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (onednn_) {
      (*onednn_)(space,
                 {.m = shape.m,
                  .n = shape.n,
                  .k = shape.k,
                  .transpose_a = transpose_a == Transpose::yes,
                  .transpose_b = transpose_b == Transpose::yes,
                  .row_stride_a = static_cast<std::int64_t>(a.stride_0()),
                  .row_stride_b = static_cast<std::int64_t>(b.stride_0()),
                  .row_stride_c = static_cast<std::int64_t>(c.stride_0()),
                  .alpha = alpha,
                  .beta = beta},
                 a.data(), b.data(), c.data(), b_is_kept);
      return;
    }
  }
  (void)b_is_kept;
  kokkos_kernels_gemm(space, transpose_a, transpose_b, alpha, a, b, beta, c, shape);
}

template <class T>
double measure_gemm_gflops(Gemm& gemm, std::int64_t n) {
  const auto size = static_cast<std::size_t>(n);
  using Owned = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace>;
  const Owned a("kolam::kernels::measured_a", size, size);
  const Owned b("kolam::kernels::measured_b", size, size);
  const Owned c("kolam::kernels::measured_c", size, size);
  const ExecutionSpace space;
  Kokkos::deep_copy(space, a, T(0.5));
  Kokkos::deep_copy(space, b, T(0.25));
  const auto multiply = [&] {
    gemm(space, Transpose::no, Transpose::no, T(1), Matrix<const T>(a), Matrix<const T>(b), T(0),
         Matrix<T>(c));
    space.fence();
  };
  multiply();
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    multiply();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const auto edge = static_cast<double>(n);
    best = std::max(best, 2 * edge * edge * edge / seconds.count() / 1e9);
  }
  return best;
}

namespace {

GemmBackend named_backend(std::string_view wanted, const std::vector<GemmBackend>& available) {
  std::string names;
  for (const GemmBackend backend : available) {
    if (name_of(backend) == wanted) return backend;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(backend));
  }
  throw ConfigurationError(fmt::format("KOLAM_GEMM is \"{}\"; this build has: {}", wanted, names));
}

/// GFLOP/s of each backend with one thread, as ranks use it.
std::vector<double> measure_backends(const std::vector<GemmBackend>& available) {
  constexpr std::int64_t edge = 256;
  std::vector<double> rates;
  // On another thread, because the number of OpenMP threads belongs to the caller.
  std::thread measuring([&] {
    use_one_blas_thread();
    for (const GemmBackend backend : available) {
      Gemm gemm(backend);
      rates.push_back(measure_gemm_gflops<float>(gemm, edge));
    }
  });
  measuring.join();
  return rates;
}

}  // namespace

GemmChoice choose_gemm_backend() {
  const std::vector<GemmBackend> available = available_gemm_backends();
  if (const char* wanted = std::getenv("KOLAM_GEMM")) {
    return {named_backend(wanted, available), "KOLAM_GEMM says so"};
  }
  if (available.size() == 1) return {available.front(), "the only one of this build"};
  // A faster backend must be this much faster to replace the default.
  constexpr double much_faster = 1.25;
  const std::vector<double> rates = measure_backends(available);
  const auto best =
      static_cast<std::size_t>(std::max_element(rates.begin(), rates.end()) - rates.begin());
  const std::size_t taken = rates[best] >= much_faster * rates.front() ? best : 0;
  std::string others;
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (i == taken) continue;
    others +=
        fmt::format("{}{:.0f} of {}", others.empty() ? "" : ", ", rates[i], name_of(available[i]));
  }
  return {available[taken],
          fmt::format("measured {:.0f} GFLOP/s at start, against {}", rates[taken], others)};
}

template GemmBackend Gemm::backend_for<float>() const;
template GemmBackend Gemm::backend_for<double>() const;
template void Gemm::operator()<float>(const ExecutionSpace&, Transpose, Transpose, float,
                                      Matrix<const float>, Matrix<const float>, float,
                                      Matrix<float>);
template void Gemm::operator()<double>(const ExecutionSpace&, Transpose, Transpose, double,
                                       Matrix<const double>, Matrix<const double>, double,
                                       Matrix<double>);
template void Gemm::with_parameters<float>(const ExecutionSpace&, Transpose, Transpose, float,
                                           Matrix<const float>, Matrix<const float>, float,
                                           Matrix<float>);
template void Gemm::with_parameters<double>(const ExecutionSpace&, Transpose, Transpose, double,
                                            Matrix<const double>, Matrix<const double>, double,
                                            Matrix<double>);
template double measure_gemm_gflops<float>(Gemm&, std::int64_t);
template double measure_gemm_gflops<double>(Gemm&, std::int64_t);

}  // namespace kolam::kernels

#include "limits.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace kolam::bench {

namespace {

using Clock = std::chrono::steady_clock;

// As wide as a register of the instruction set that this is compiled for.
#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

/// Enough independent sums for the latency of a multiply-add times their number per cycle.
constexpr int sums = 12;

template <class T>
double round_gflops() {
  typedef T Register __attribute__((vector_size(register_bytes)));
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
  constexpr int repeats = 4'000'000;
  Register sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = Register{} + static_cast<T>(i);
  Register factor = Register{} + static_cast<T>(0.999999);
  Register term = Register{} + static_cast<T>(1e-6);
  const auto begin = Clock::now();
  for (int r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = sum[i] * factor + term;
    // Or the compiler would see that all rounds are one.
    asm volatile("" : "+x"(factor), "+x"(term));
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (int i = 0; i < sums; ++i) asm volatile("" : : "x"(sum[i]));
  return 2.0 * lanes * sums * repeats / seconds / 1e9;
}

template <class T>
double best_gflops() {
  double best = 0;
  for (int round = 0; round < 6; ++round) best = std::max(best, round_gflops<T>());
  return best;
}

}  // namespace

double peak_gflops() {
  return best_gflops<float>();
}

double peak_gflops_f64() {
  return best_gflops<double>();
}

double peak_bandwidth() {
  constexpr std::size_t count = std::size_t{1} << 23;
  std::vector<double> a(count, 1.0);
  const std::vector<double> b(count, 2.0);
  const std::vector<double> c(count, 3.0);
  double best = 0;
  for (int round = 0; round < 8; ++round) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 0.5 * c[i];
    asm volatile("" : : "r"(a.data()) : "memory");
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, 3.0 * sizeof(double) * static_cast<double>(count) / seconds / 1e9);
  }
  return best;
}

}  // namespace kolam::bench

// Matrix products of the shapes that the MLPs make, with every backend: GFLOP/s, and the share of
// what one core can do at most.
#include <benchmark/benchmark.h>

#include <kolam/core/kernels/gemm.hpp>

#include <string>

#include "limits.hpp"

namespace {

using namespace kolam;
using kernels::Gemm;
using kernels::GemmBackend;
using kernels::Transpose;

struct Shape {
  const char* name;
  std::int64_t m, n, k;
  Transpose a, b;
};

template <class T>
using Owned = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace>;

template <class T>
Owned<T> filled(std::int64_t rows, std::int64_t columns) {
  Owned<T> matrix("kolam::bench::matrix", static_cast<std::size_t>(rows),
                  static_cast<std::size_t>(columns));
  Kokkos::deep_copy(matrix, T(0.5));
  return matrix;
}

template <class T>
void multiply(benchmark::State& state, GemmBackend backend, const Shape& shape, double peak) {
  Gemm gemm(backend);
  const bool a_turned = shape.a == Transpose::yes;
  const bool b_turned = shape.b == Transpose::yes;
  const auto a = a_turned ? filled<T>(shape.k, shape.m) : filled<T>(shape.m, shape.k);
  const auto b = b_turned ? filled<T>(shape.n, shape.k) : filled<T>(shape.k, shape.n);
  const auto c = filled<T>(shape.m, shape.n);
  const ExecutionSpace space;
  for (auto _ : state) {
    gemm(space, shape.a, shape.b, T(1), Matrix<const T>(a), Matrix<const T>(b), T(0), Matrix<T>(c));
    space.fence();
  }
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k) * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops / 1e9, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(flops / 1e9 / peak, benchmark::Counter::kIsRate);
}

constexpr auto no = Transpose::no;
constexpr auto yes = Transpose::yes;

/// Rows of a device's batch, width 1024: forward, gradient of the input, gradient of the weights.
constexpr Shape shapes[] = {
    {"block_forward", 512, 1024, 1024, no, no},
    {"block_input_gradient", 512, 1024, 1024, no, yes},
    {"block_weight_gradient", 1024, 1024, 512, yes, no},
    {"image_forward", 512, 1024, 784, no, no},
    {"image_weight_gradient", 784, 1024, 512, yes, no},
    {"small_forward", 32, 128, 784, no, no},
    {"small_weight_gradient", 784, 128, 32, yes, no},
    {"small_logits", 32, 10, 128, no, no},
};

template <class T>
void add(const char* type, GemmBackend backend, const Shape& shape, double peak) {
  const std::string name = std::string(kernels::name_of(backend)) + "/" + type + "/" + shape.name;
  benchmark::RegisterBenchmark(
      name.c_str(), [=](benchmark::State& state) { multiply<T>(state, backend, shape, peak); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  compat::initialize_kokkos();
  const double peak = bench::peak_gflops();
  const double peak_f64 = bench::peak_gflops_f64();
  benchmark::AddCustomContext("peak_gflops_f32_one_core", std::to_string(peak));
  benchmark::AddCustomContext("peak_gflops_f64_one_core", std::to_string(peak_f64));
  for (const GemmBackend backend : kernels::available_gemm_backends()) {
    for (const Shape& shape : shapes) {
      add<float>("f32", backend, shape, peak);
      if (backend == GemmBackend::kokkos_kernels) add<double>("f64", backend, shape, peak_f64);
    }
  }
  benchmark::Initialize(&argc, argv);
  const bool is_understood = !benchmark::ReportUnrecognizedArguments(argc, argv);
  if (is_understood) benchmark::RunSpecifiedBenchmarks();
  Kokkos::finalize();
  return is_understood ? 0 : 1;
}

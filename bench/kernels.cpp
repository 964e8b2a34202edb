// Element-wise kernels and reductions: bytes that they must move, per second, and the share of what
// one core streams. Small sizes stay in a cache and may exceed it.
#include <benchmark/benchmark.h>

#include <kolam/core/kernels/bias_gelu_mix.hpp>
#include <kolam/core/kernels/blas_threads.hpp>
#include <kolam/core/kernels/gelu.hpp>
#include <kolam/core/kernels/optimizer_update.hpp>
#include <kolam/core/kernels/softmax_cross_entropy.hpp>

#include <functional>
#include <string>
#include <vector>

#include "limits.hpp"

namespace {

using namespace kolam;

template <class T>
struct Operands {
  Operands(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {
    for (std::vector<T>& values : memory_) {
      values.assign(static_cast<std::size_t>(rows * columns), T(0.3));
    }
    labels_.assign(static_cast<std::size_t>(rows), 3);
  }

  Matrix<T> matrix(int index) {
    return Matrix<T>(memory_[index].data(), static_cast<std::size_t>(rows_),
                     static_cast<std::size_t>(columns_));
  }
  Vector<T> vector(int index) { return Vector<T>(memory_[index].data(), memory_[index].size()); }
  Vector<T> row(int index) {
    return Vector<T>(memory_[index].data(), static_cast<std::size_t>(columns_));
  }
  Vector<T> column(int index) {
    return Vector<T>(memory_[index].data(), static_cast<std::size_t>(rows_));
  }
  Vector<const std::int32_t> labels() const {
    return Vector<const std::int32_t>(labels_.data(), labels_.size());
  }
  T scalar = T(1);

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<T> memory_[6];
  std::vector<std::int32_t> labels_;
};

using Kernel = std::function<void(Operands<float>&)>;

/// \param passes how many arrays of rows x columns floats the kernel reads and writes.
void add(const char* name, std::int64_t rows, std::int64_t columns, double passes, double limit,
         const Kernel& kernel) {
  const std::string full =
      std::string(name) + "/" + std::to_string(rows) + "x" + std::to_string(columns);
  benchmark::RegisterBenchmark(
      full.c_str(),
      [=](benchmark::State& state) {
        Operands<float> operands(rows, columns);
        for (auto _ : state) {
          kernel(operands);
          benchmark::ClobberMemory();
        }
        const double gigabytes = passes * 4.0 * static_cast<double>(rows * columns) *
                                 static_cast<double>(state.iterations()) / 1e9;
        state.counters["GB/s"] = benchmark::Counter(gigabytes, benchmark::Counter::kIsRate);
        state.counters["of_stream"] =
            benchmark::Counter(gigabytes / limit, benchmark::Counter::kIsRate);
      })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_all(std::int64_t rows, std::int64_t columns, double limit) {
  const ExecutionSpace space;
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    const std::string suffix = form == GeluForm::tanh ? "" : "_exact";
    add(("gelu_forward" + suffix).c_str(), rows, columns, 2, limit, [=](Operands<float>& o) {
      kernels::gelu_forward<float>(space, form, o.matrix(0), o.matrix(1));
    });
    add(("gelu_backward" + suffix).c_str(), rows, columns, 3, limit, [=](Operands<float>& o) {
      kernels::gelu_backward<float>(space, form, o.matrix(0), o.matrix(1), 0, o.matrix(2));
    });
  }
  add("bias_gelu_mix_forward", rows, columns, 4, limit, [=](Operands<float>& o) {
    kernels::bias_gelu_mix_forward<float>(space, GeluForm::tanh, 0.1F, o.row(3), o.matrix(0),
                                          o.matrix(1), o.matrix(2));
  });
  add("bias_gelu_mix_backward", rows, columns, 4, limit, [=](Operands<float>& o) {
    kernels::bias_gelu_mix_backward<float>(space, GeluForm::tanh, 0.1F, o.matrix(0), o.matrix(1),
                                           o.matrix(2), 0, o.matrix(3), 0, o.row(4));
  });
  add("adamw_update", rows, columns, 7, limit, [=](Operands<float>& o) {
    kernels::adamw_update<float>(space,
                                 {.learning_rate = 1e-3,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .epsilon = 1e-8,
                                  .weight_decay = 1e-4},
                                 o.vector(0), o.vector(1), o.vector(2), o.vector(3));
  });
}

}  // namespace

int main(int argc, char** argv) {
  compat::initialize_kokkos();
  kernels::use_one_blas_thread();
  const double limit = bench::peak_bandwidth();
  benchmark::AddCustomContext("stream_triad_GB/s_one_core", std::to_string(limit));
  add_all(32, 128, limit);
  add_all(512, 1024, limit);
  add_all(8192, 1024, limit);
  const ExecutionSpace space;
  for (const std::int64_t rows : {32, 4096}) {
    add("softmax_cross_entropy_forward", rows, 10, 1, limit, [=](Operands<float>& o) {
      kernels::softmax_cross_entropy_forward<float>(space, o.matrix(0), o.labels(), 1, o.column(1),
                                                    ScalarView<float>(&o.scalar));
    });
    add("softmax_cross_entropy_backward", rows, 10, 2, limit, [=](Operands<float>& o) {
      kernels::softmax_cross_entropy_backward<float>(
          space, o.matrix(0), o.labels(), ScalarView<const float>(&o.scalar), 1, 0, o.matrix(1));
    });
  }
  benchmark::Initialize(&argc, argv);
  const bool is_understood = !benchmark::ReportUnrecognizedArguments(argc, argv);
  if (is_understood) benchmark::RunSpecifiedBenchmarks();
  Kokkos::finalize();
  return is_understood ? 0 : 1;
}

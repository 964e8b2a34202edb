// Training steps of the shared-block MLP: examples/s and GFLOP/s (GEMMs only) on 1 and 2 devices,
// automatic and explicit. Each iteration is one step on every rank, between two barriers.
#include <benchmark/benchmark.h>

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/shard_map.hpp>

#include <memory>
#include <vector>

#include "limits.hpp"

namespace {

using namespace kolam;
using Model = models::SharedBlockMlp<models::DataParallel, float>;

struct Workload {
  std::int64_t width;
  std::int64_t repeats;
  std::int64_t global_batch;
};

/// Multiply-adds of the GEMMs of one step, forward and backward; the gradient of the images is not
/// computed.
double gemm_flops(const Workload& w) {
  const auto n = static_cast<double>(w.width);
  const double block = 6 * n * n * static_cast<double>(w.repeats);
  return static_cast<double>(w.global_batch) * (4 * 784 * n + block + 6 * n * 10);
}

double peak() {
  static const double gflops = bench::peak_gflops();
  return gflops;
}

template <class M, class X, class Y>
auto local_step(M& model, const X& x, const Y& y) {
  return value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
}

void steps(benchmark::State& state, const Workload& workload, int devices, bool is_explicit) {
  const std::vector<float> images(static_cast<std::size_t>(workload.global_batch * 784), 0.3f);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < workload.global_batch; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 10));
  }
  Session session({.devices = devices});
  if (session.devices().front().is_shared) {
    state.SkipWithError("there are fewer cores than devices");
    return;
  }
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    Model model(rank, {.width = workload.width, .repeats = workload.repeats});
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 3e-4});
    const auto x = device_put<P<"data", none>>(
        rank, HostTensor<float>{images.data(), {workload.global_batch, 784}});
    const auto y = device_put<P<"data">>(
        rank, HostTensor<std::int32_t>{labels.data(), {workload.global_batch}});
    auto mapped = shard_map<In<P<>, P<"data", none>, P<"data">>, Out<P<>, P<>>>(
        rank, [](auto& m, const auto& local_x, const auto& local_y) {
          const auto [loss, gradients] = local_step(m, local_x, local_y);
          return std::tuple(pmean<"data">(loss), pmean<"data">(gradients));
        });
    const auto step = [&] {
      if (is_explicit) {
        const auto [loss, gradients] = mapped(model, x, y);
        optimizer.update(gradients);
      } else {
        const auto [loss, gradients] = local_step(model, x, y);
        optimizer.update(gradients);
      }
    };
    // Rank 0 decides whether there is another step; the others learn it by a broadcast.
    const auto agreed = [&](bool more) {
      std::int32_t flag = more ? 1 : 0;
      rank.communicator().broadcast(rank.space(), {"data", "bench/continue"}, 0,
                                    {&flag, ScalarType::i32, 1});
      return flag == 1;
    };
    step();
    step();
    if (rank.rank() == 0) {
      for (auto _ : state) {
        agreed(true);
        step();
      }
      agreed(false);
    } else {
      while (agreed(false)) step();
    }
  });
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["examples/s"] = benchmark::Counter(
      static_cast<double>(workload.global_batch) * iterations, benchmark::Counter::kIsRate);
  const double gflop = gemm_flops(workload) * iterations / 1e9;
  state.counters["GFLOP/s"] = benchmark::Counter(gflop, benchmark::Counter::kIsRate);
  state.counters["of_peak"] =
      benchmark::Counter(gflop / (devices * peak()), benchmark::Counter::kIsRate);
}

constexpr Workload codelab{1024, 128, 1024};
constexpr Workload quick_one{512, 16, 256};
constexpr Workload quick_two{512, 16, 512};

void add(const char* name, const Workload& workload, int devices, bool is_explicit) {
  benchmark::RegisterBenchmark(
      name, [=](benchmark::State& state) { steps(state, workload, devices, is_explicit); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("step/quick/1_device", quick_one, 1, false);
  add("step/quick/2_devices_automatic", quick_two, 2, false);
  add("step/quick/2_devices_explicit", quick_two, 2, true);
  add("step/codelab/1_device", codelab, 1, false);
  add("step/codelab/2_devices_automatic", codelab, 2, false);
  add("step/codelab/2_devices_explicit", codelab, 2, true);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

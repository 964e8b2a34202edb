// Collectives of ranks in one process: algbw and busbw as nccl-tests defines them, and how well the
// communication model predicts the time. Each figure is the median of several rounds, each timed by
// its slowest rank, after other memory was written (as in a training step).
#include <benchmark/benchmark.h>

#include <kolam/parallel/communication_model.hpp>
#include <kolam/parallel/session.hpp>

#include <map>
#include <string>

namespace {

using namespace kolam;

constexpr std::int64_t largest_modelled = std::int64_t{64} << 20;

int rounds_for(std::int64_t bytes) {
  if (bytes <= (1 << 20)) return 31;
  return bytes <= (16 << 20) ? 11 : 5;
}

struct Measured {
  double seconds = 0;
  double predicted_seconds = 0;
};

/// Latency and bandwidth of so many ranks, measured once.
const CommunicationModel& model_of(int ranks) {
  static std::map<int, CommunicationModel> models;
  const auto found = models.find(ranks);
  if (found != models.end()) return found->second;
  CommunicationModel model{0, {{1, 1}}};
  Session session({.devices = ranks});
  session.run(Mesh{{"data", ranks}}, [&](Rank& rank) {
    const CommunicationModel measured = measure_communication(rank, "data", largest_modelled);
    if (rank.rank() == 0) model = measured;
  });
  return models.emplace(ranks, model).first->second;
}

Measured measure(int ranks, std::int64_t bytes) {
  Measured result;
  Session session({.devices = ranks});
  session.run(Mesh{{"data", ranks}}, [&](Rank& rank) {
    const double seconds = measure_allreduce(rank, "data", bytes, rounds_for(bytes));
    if (rank.rank() == 0) result.seconds = seconds;
  });
  result.predicted_seconds = model_of(ranks).allreduce_seconds(bytes);
  return result;
}

void allreduce(benchmark::State& state, int ranks, std::int64_t bytes) {
  Measured measured;
  for (auto _ : state) {
    measured = measure(ranks, bytes);
    state.SetIterationTime(measured.seconds);
  }
  const double bandwidth = static_cast<double>(bytes) / measured.seconds / 1e9;
  const double n = ranks;
  state.counters["algbw_GB/s"] = bandwidth;
  state.counters["busbw_GB/s"] = bandwidth * 2 * (n - 1) / n;
  if (bytes <= largest_modelled) {
    state.counters["predicted/measured"] = measured.predicted_seconds / measured.seconds;
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (std::int64_t bytes = 1 << 10; bytes <= (std::int64_t{256} << 20); bytes *= 4) {
      const std::string name =
          "allreduce/ranks:" + std::to_string(ranks) + "/bytes:" + std::to_string(bytes);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { allreduce(state, ranks, bytes); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

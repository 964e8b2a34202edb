// The loader: examples per second that one rank can be given, with and without a thread that
// prepares batches ahead, and the shuffled order of an epoch.
#include <benchmark/benchmark.h>

#include <kolam/core/data/batch_loader.hpp>

#include <string>

namespace {

using namespace kolam;

constexpr std::int64_t examples = 60000;

data::Dataset made_up() {
  data::IdxFile images{{examples, 28, 28}, std::vector<std::uint8_t>(examples * 784, 100)};
  data::IdxFile labels{{examples}, std::vector<std::uint8_t>(examples, 3)};
  return data::Dataset(std::move(images), std::move(labels), "made up", 10);
}

/// One iteration is one epoch.
void load(benchmark::State& state, const data::Dataset& dataset, std::int64_t batch,
          std::int64_t ahead) {
  data::BatchLoader<float> loader(dataset, {.global_batch = batch, .seed = 1, .ahead = ahead});
  std::uint64_t epoch = 0;
  for (auto _ : state) {
    loader.start(epoch++);
    while (loader.next()) benchmark::DoNotOptimize(loader.images().data);
  }
  state.SetItemsProcessed(state.iterations() * examples);
}

void shuffle(benchmark::State& state) {
  std::uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(data::shuffled_order(examples, 1, epoch++));
  state.SetItemsProcessed(state.iterations() * examples);
}

}  // namespace

int main(int argc, char** argv) {
  const data::Dataset dataset = made_up();
  for (const std::int64_t batch : {32, 128, 2048}) {
    for (const std::int64_t ahead : {0, 4}) {
      const std::string name =
          "loader/batch:" + std::to_string(batch) + "/ahead:" + std::to_string(ahead);
      benchmark::RegisterBenchmark(
          name.c_str(),
          [&dataset, batch, ahead](benchmark::State& state) { load(state, dataset, batch, ahead); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("shuffled_order", shuffle)->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

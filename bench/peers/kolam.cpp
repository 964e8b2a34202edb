// The peers' workloads in kolam, with the same one line of JSON at the end.
// Usage: bench_peers_kolam codelab 1|automatic|explicit
//        bench_peers_kolam small BATCH DEVICES
#include <kolam/core/data/fashion_mnist.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/mlp.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/models/training.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/shard_map.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace kolam;
using models::DataParallel;
using Clock = std::chrono::steady_clock;

/// Seconds since the process was started, which the caller noted.
double since_start() {
  const char* started = std::getenv("PEERS_STARTED");
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return started == nullptr ? 0 : now.count() - std::strtod(started, nullptr);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class Model, class X, class Y>
auto loss_and_gradients(Model& model, const X& x, const Y& y) {
  return value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
}

void codelab(std::string_view mode) {
  const data::Dataset dataset = data::load_fashion_mnist(data::Split::train);
  constexpr std::int64_t batch = 1024;
  const auto batches = data::stack_batches<float>(dataset, {.batches = 1, .batch = batch});
  const int devices = mode == "1" ? 1 : 2;
  double first = 0;
  std::vector<double> times;
  Session session({.devices = devices});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    models::SharedBlockMlp<DataParallel> model(rank, {});
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 3e-4, .weight_decay = 1e-4});
    const auto x = device_put<P<"data", none>>(rank, batches.images(0));
    const auto y = device_put<P<"data">>(rank, batches.labels(0));
    auto mapped = shard_map<In<P<>, P<"data", none>, P<"data">>, Out<P<>, P<>>>(
        rank, [](auto& local, const auto& local_x, const auto& local_y) {
          const auto [loss, gradients] = loss_and_gradients(local, local_x, local_y);
          return std::tuple(pmean<"data">(loss), pmean<"data">(gradients));
        });
    const auto step = [&] {
      if (mode == "explicit") {
        const auto [loss, gradients] = mapped(model, x, y);
        optimizer.update(gradients);
        value(loss);
      } else {
        const auto [loss, gradients] = loss_and_gradients(model, x, y);
        optimizer.update(gradients);
        value(loss);
      }
      rank.communicator().barrier(rank.space(), {"data", "peers/step"});
    };
    step();
    if (rank.rank() == 0) first = since_start();
    for (int i = 0; i < 4; ++i) {
      const auto begin = Clock::now();
      step();
      if (rank.rank() == 0) times.push_back(seconds_since(begin));
    }
  });
  const double seconds = median(times);
  fmt::print(
      "{{\"version\": \"kolam\", \"ms_per_step\": {}, \"examples_per_second\": {}, "
      "\"first_step_seconds\": {}}}\n",
      1000 * seconds, batch / seconds, first);
}

void small(std::int64_t batch, int devices) {
  const data::Dataset training = data::load_fashion_mnist(data::Split::train);
  double first = 0;
  double accuracy = 0;
  std::vector<double> times;
  Session session({.devices = devices});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    models::Mlp<DataParallel> model(rank, {});
    optim::Adam optimizer(model.parameters(), {.learning_rate = 1e-3});
    {
      const auto batches = data::stack_batches<float>(training, {.batches = 1, .batch = batch});
      const auto x = device_put<P<"data", none>>(rank, batches.images(0));
      const auto y = device_put<P<"data">>(rank, batches.labels(0));
      const auto [loss, gradients] = loss_and_gradients(model, x, y);
      optimizer.update(gradients);
      value(loss);
    }
    if (rank.rank() == 0) first = since_start();
    const data::Dataset test = data::load_fashion_mnist(data::Split::test);
    models::fit<DataParallel>(rank, model, optimizer, training, test,
                              {.epochs = 5, .global_batch = batch, .seed = 1},
                              {.on_epoch = [&](const models::EpochReport& report) {
                                times.push_back(report.seconds);
                                accuracy = report.validation.accuracy;
                              }});
  });
  const double seconds = median({times.begin() + 1, times.end()});
  fmt::print(
      "{{\"version\": \"kolam\", \"epoch_seconds\": {}, \"examples_per_second\": {}, "
      "\"first_step_seconds\": {}, \"accuracy\": {}}}\n",
      seconds, 60000 / seconds, first, accuracy);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "codelab") {
      codelab(arguments[1]);
    } else if (arguments.size() == 3 && arguments[0] == "small") {
      small(std::stoll(arguments[1]), std::stoi(arguments[2]));
    } else {
      fmt::print(stderr, "usage: bench_peers_kolam codelab MODE | small BATCH DEVICES\n");
      return 2;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_peers_kolam: {}\n", error.what());
    return 1;
  }
  return 0;
}

#include "measure.hpp"

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/data/batches.hpp>
#include <kolam/core/ops/accuracy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/shared_block_mlp.hpp>

#include <algorithm>

#include "step.hpp"

namespace kolam::app {

namespace {

using Clock = std::chrono::steady_clock;
using Progress = std::function<void(std::int64_t, std::int64_t)>;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void wait_for_all(Rank& rank, std::string_view label) {
  rank.communicator().barrier(rank.space(), {"data", label});
}

/// The same sequence of collectives, traced several times: the median of each time.
std::vector<CollectiveRecord> medians(const std::vector<std::vector<CollectiveRecord>>& steps) {
  std::vector<CollectiveRecord> result = steps.front();
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<double> seconds;
    std::vector<double> waited;
    for (const auto& step : steps) {
      seconds.push_back(step.at(i).seconds);
      waited.push_back(step.at(i).waited_seconds);
    }
    result[i].seconds = median(seconds);
    result[i].waited_seconds = median(waited);
  }
  return result;
}

/// What one rank does in a run.
template <class T, class Step>
class Trainer {
 public:
  Trainer(Rank& rank, const StudyOptions& options, const data::StackedBatches<T>& batches,
          std::int64_t classes)
      : rank_(rank),
        options_(options),
        model_(rank, {.inputs = batches.features(),
                      .width = options.width,
                      .classes = classes,
                      .repeats = options.repeats,
                      .mix = options.mix,
                      .gelu = options.gelu,
                      .seed = options.seed,
                      .keep_every = options.keep_every}),
        optimizer_(model_.parameters(),
                   {.learning_rate = options.learning_rate, .weight_decay = options.weight_decay}) {
    for (std::int64_t i = 0; i < batches.batches(); ++i) {
      images_.push_back(device_put<models::DataParallel::Images>(rank, batches.images(i)));
      labels_.push_back(device_put<models::DataParallel::Labels>(rank, batches.labels(i)));
    }
  }

  void run(RunResult& result, const Progress& progress) {
    for (std::int64_t i = 0; i < options_.warmup; ++i) step(progress);
    std::vector<double> times;
    for (std::int64_t m = 0; m < options_.measurements; ++m) {
      wait_for_all(rank_, "study/before steps");
      const auto begin = Clock::now();
      for (std::int64_t i = 0; i < options_.steps; ++i) step(progress);
      wait_for_all(rank_, "study/after steps");
      times.push_back(milliseconds_since(begin) / static_cast<double>(options_.steps));
    }
    const auto last = static_cast<std::size_t>((done_ - 1) % options_.batches);
    const double accuracy = static_cast<double>(
        value(psum<"data">(ops::accuracy(model_(images_[last]), labels_[last]), "accuracy")));
    const std::int64_t peak = rank_.arena().peak_bytes();
    // Behind the digest, because these steps train on.
    const std::string digest = model_.parameters().digest();
    const std::vector<CollectiveRecord> collectives = trace_steps();
    if (rank_.rank() != 0) return;
    result.measurements = times;
    result.final_loss = last_loss_;
    result.final_accuracy = accuracy;
    result.peak_bytes = peak;
    result.digest = digest;
    result.collectives = collectives;
  }

 private:
  std::vector<CollectiveRecord> trace_steps() {
    if (rank_.mesh().size() == 1) return {};
    std::vector<std::vector<CollectiveRecord>> steps;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(options_.steps, 3); ++i) {
      const CollectiveTrace trace(rank_);
      step([](std::int64_t, std::int64_t) {});
      steps.push_back(trace.records());
    }
    return medians(steps);
  }

  void step(const Progress& progress) {
    const auto batch = static_cast<std::size_t>(done_ % options_.batches);
    const auto loss = Step{}(rank_, model_, optimizer_, images_[batch], labels_[batch]);
    ++done_;
    const std::int64_t all = options_.warmup + options_.steps * options_.measurements;
    if (done_ == all) last_loss_ = static_cast<double>(value(loss));
    if (rank_.rank() == 0) progress(done_, all);
  }

  Rank& rank_;
  const StudyOptions& options_;
  models::SharedBlockMlp<models::DataParallel, T> model_;
  optim::AdamW<T> optimizer_;
  std::vector<Array<T**, models::DataParallel::Images>> images_;
  std::vector<Array<std::int32_t*, models::DataParallel::Labels>> labels_;
  std::int64_t done_ = 0;
  double last_loss_ = 0;
};

template <class T, class Step>
RunResult run_with(Session& session, const data::Dataset& dataset, const StudyOptions& options,
                   int devices, const Progress& progress) {
  RunResult result;
  result.devices = devices;
  result.global_batch = options.batch_per_device * devices;
  const auto batches = data::stack_batches<T>(
      dataset, {.batches = options.batches, .batch = result.global_batch, .seed = options.seed});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    Trainer<T, Step>(rank, options, batches, options.classes.value_or(dataset.class_count()))
        .run(result, progress);
  });
  result.milliseconds_per_step = median(result.measurements);
  result.examples_per_second =
      static_cast<double>(result.global_batch) / (result.milliseconds_per_step / 1000.0);
  return result;
}

}  // namespace

double RunResult::communication_milliseconds() const {
  double seconds = 0;
  for (const CollectiveRecord& record : collectives) seconds += record.seconds;
  return 1000 * seconds;
}

double RunResult::waiting_milliseconds() const {
  double seconds = 0;
  for (const CollectiveRecord& record : collectives) seconds += record.waited_seconds;
  return 1000 * seconds;
}

models::MemoryEstimate estimate_run(const data::Dataset& dataset, const StudyOptions& options,
                                    Path path) {
  return models::estimate_memory({.inputs = dataset.features(),
                                  .width = options.width,
                                  .classes = options.classes.value_or(dataset.class_count()),
                                  .repeats = options.repeats,
                                  .keep_every = options.keep_every},
                                 {.rows = options.batch_per_device,
                                  .element_bytes = options.precision == Precision::f32 ? 4 : 8,
                                  .optimizer_buffers = 2,
                                  .gradient_buffers = path == Path::automatic ? 1 : 2,
                                  .batches = options.batches});
}

std::int64_t examples_needed(const StudyOptions& options, int devices) {
  return checked_product(options.batches, checked_product(options.batch_per_device, devices));
}

RunResult measure_run(Session& session, const data::Dataset& dataset, const StudyOptions& options,
                      int devices, Path path, const Progress& progress) {
  const bool is_double = options.precision == Precision::f64;
  if (path == Path::automatic) {
    return is_double ? run_with<double, AutomaticStep>(session, dataset, options, devices, progress)
                     : run_with<float, AutomaticStep>(session, dataset, options, devices, progress);
  }
  return is_double ? run_with<double, ExplicitStep>(session, dataset, options, devices, progress)
                   : run_with<float, ExplicitStep>(session, dataset, options, devices, progress);
}

}  // namespace kolam::app

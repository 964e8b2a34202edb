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

/// Median of a few allreduces of as many elements as there are gradients and the loss.
template <class T>
double measure_allreduce(Rank& rank, std::int64_t count) {
  const Block block =
      rank.arena().allocate(count * static_cast<std::int64_t>(sizeof(T)), "the measured allreduce");
  const Vector<T> values(static_cast<T*>(block.data()), static_cast<std::size_t>(count));
  kernels::fill(rank.space(), values, T(0));
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    wait_for_all(rank, "study/before allreduce");
    const auto begin = Clock::now();
    rank.communicator().allreduce(rank.space(), {"data", "study/measured allreduce"},
                                  ReduceOperation::sum, {values.data(), scalar_type_of<T>, count});
    times.push_back(milliseconds_since(begin));
  }
  return median(times);
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
                      .seed = options.seed}),
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
    const double allreduce = rank_.mesh().size() == 1
                                 ? 0.0
                                 : measure_allreduce<T>(rank_, model_.parameters().flat_size() + 1);
    if (rank_.rank() != 0) return;
    result.measurements = times;
    result.final_loss = last_loss_;
    result.final_accuracy = accuracy;
    result.allreduce_milliseconds = allreduce;
    result.peak_bytes = peak;
    result.digest = model_.parameters().digest();
  }

 private:
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

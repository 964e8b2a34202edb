/// \file
/// The training loop: `fit` over epochs, with callbacks, and `evaluate`.
///
/// Both are written for a placement policy and know nothing of devices: every example of a data set
/// counts exactly once, on any number of them, and a batch smaller than their number leaves some
/// with nothing to do. All ranks call them alike; callbacks run on rank 0.
#pragma once

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/data/batch_loader.hpp>
#include <kolam/core/ops/accuracy.hpp>
#include <kolam/parallel/collectives.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace kolam::models {

/// Means over a data set.
struct Evaluation {
  double loss = 0;
  /// 0 to 1.
  double accuracy = 0;
  std::int64_t examples = 0;
};

/// Where an epoch stands.
struct BatchReport {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  std::int64_t batch_count = 0;
  /// Of this epoch, over all devices.
  std::int64_t examples = 0;
  /// Mean loss of the epoch so far.
  double loss = 0;
  /// Share of rank 0's examples of the epoch so far that were right before their update, 0 to 1.
  double accuracy = 0;
  double seconds = 0;
};

struct EpochReport {
  /// From 1.
  std::int64_t epoch = 0;
  /// Over the training examples, each before its update.
  Evaluation training = {};
  /// Over the test examples, after the epoch.
  Evaluation validation = {};
  /// Of training alone.
  double seconds = 0;
  double examples_per_second = 0;
};

struct FitOptions {
  std::int64_t epochs = 5;
  std::int64_t global_batch = 128;
  /// Of the order of the examples.
  std::uint64_t seed = 1;
  /// Batches that each rank prepares ahead on a thread of its own; none: a few where this machine
  /// has cores that no rank has, otherwise 0.
  std::optional<std::int64_t> ahead = {};
};

struct FitCallbacks {
  std::function<void(const BatchReport&)> on_batch = {};
  std::function<void(const EpochReport&)> on_epoch = {};
};

namespace detail {

/// What a rank counts for itself, summed over the ranks when asked for.
template <Axes Over>
class Tally {
 public:
  void add(double loss_sum, std::int64_t hits, std::int64_t rows) {
    loss_sum_ += loss_sum;
    hits_ += hits;
    rows_ += rows;
  }
  double local_accuracy() const {
    return rows_ == 0 ? 0 : static_cast<double>(hits_) / static_cast<double>(rows_);
  }
  std::int64_t sum_hits(RankContext& context) const {
    return sum_of_parts<Over>(context, hits_, "fit/hits");
  }
  double sum_losses(RankContext& context) const {
    return sum_of_parts<Over>(context, loss_sum_, "fit/losses");
  }

 private:
  double loss_sum_ = 0;
  std::int64_t hits_ = 0;
  std::int64_t rows_ = 0;
};

inline Evaluation mean_of(double loss_sum, std::int64_t hits, std::int64_t examples) {
  const auto count = static_cast<double>(examples);
  return {loss_sum / count, static_cast<double>(hits) / count, examples};
}

inline std::int64_t batches_ahead(const RankContext& context, const FitOptions& options) {
  return options.ahead.value_or(context.spare_cores() > 0 ? 4 : 0);
}

/// This rank's slices of the batches of a data set.
template <class Placements, class T>
data::BatchLoader<T> loader_of(const RankContext& context, const data::Dataset& dataset,
                               std::int64_t global_batch, std::uint64_t seed, data::Order order,
                               std::int64_t ahead) {
  data::LoaderOptions options{
      .global_batch = global_batch, .seed = seed, .order = order, .ahead = ahead};
  options.share = [&context](std::int64_t rows) {
    constexpr Axes axes = placement_of<typename Placements::Images>.dimension(0);
    return local_slice(context.mesh(), context.rank(), axes, rows);
  };
  return data::BatchLoader<T>(dataset, options);
}

/// The current batch as arrays over the mesh.
template <class Placements, class T>
auto arrays_of(RankContext& context, const data::BatchLoader<T>& loader) {
  const std::int64_t rows = loader.global_rows();
  const std::int64_t features = loader.images().extents[1];
  return std::pair(
      device_put_slice<typename Placements::Images>(context, loader.images(), {rows, features}),
      device_put_slice<typename Placements::Labels>(context, loader.labels(), {rows}));
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline void refuse_loss(const BatchReport& report, double loss) {
  if (std::isfinite(loss)) return;
  throw DataError(fmt::format(
      "the loss is {} at batch {} of epoch {}; training diverged: lower the learning rate", loss,
      report.batch, report.epoch));
}

}  // namespace detail

/// Mean loss and accuracy over all examples of a data set, `global_batch` at a time.
template <class Placements, class Model>
Evaluation evaluate(RankContext& context, Model& model, const data::Dataset& dataset,
                    std::int64_t global_batch) {
  using T = typename Model::value_type;
  constexpr Axes batch_axes = placement_of<typename Placements::Images>.dimension(0);
  auto loader = detail::loader_of<Placements, T>(context, dataset, global_batch, 0,
                                                 data::Order::as_stored, 0);
  detail::Tally<batch_axes> tally;
  loader.start(0);
  while (loader.next()) {
    const auto [x, y] = detail::arrays_of<Placements>(context, loader);
    const auto logits = model(x);
    const auto loss = ops::softmax_cross_entropy(logits, y, Reduction::sum);
    tally.add(static_cast<double>(local_value(loss)), local_value(ops::correct_count(logits, y)),
              x.local_extents()[0]);
  }
  return detail::mean_of(tally.sum_losses(context), tally.sum_hits(context), dataset.count());
}

/// One pass over the training examples.
template <class Placements, class Model, class Optimizer>
EpochReport train_epoch(RankContext& context, Model& model, Optimizer& optimizer,
                        data::BatchLoader<typename Model::value_type>& loader, std::int64_t epoch,
                        const FitCallbacks& callbacks) {
  constexpr Axes batch_axes = placement_of<typename Placements::Images>.dimension(0);
  detail::Tally<batch_axes> tally;
  BatchReport report{.epoch = epoch, .batch_count = loader.batch_count()};
  double loss_sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  loader.start(static_cast<std::uint64_t>(epoch - 1));
  while (loader.next()) {
    const auto [x, y] = detail::arrays_of<Placements>(context, loader);
    std::int64_t hits = 0;
    const auto [loss, gradients] = value_and_grad(model, [&] {
      const auto logits = model(x);
      hits = local_value(ops::correct_count(logits, y));
      return ops::softmax_cross_entropy(logits, y);
    });
    optimizer.update(gradients);
    const std::int64_t rows = x.extents()[0];
    const auto mean_loss = static_cast<double>(value(loss));
    loss_sum += mean_loss * static_cast<double>(rows);
    tally.add(0, hits, x.local_extents()[0]);
    ++report.batch;
    report.examples += rows;
    detail::refuse_loss(report, mean_loss);
    if (context.rank() != 0 || !callbacks.on_batch) continue;
    report.loss = loss_sum / static_cast<double>(report.examples);
    report.accuracy = tally.local_accuracy();
    report.seconds = detail::seconds_since(begin);
    callbacks.on_batch(report);
  }
  EpochReport result{.epoch = epoch};
  result.training = detail::mean_of(loss_sum, tally.sum_hits(context), report.examples);
  result.seconds = detail::seconds_since(begin);
  result.examples_per_second = static_cast<double>(report.examples) / result.seconds;
  return result;
}

/// Trains for some epochs; the order of the examples differs from epoch to epoch and depends on the
/// seed alone. \returns the report of the last epoch.
/// \throws ConfigurationError for a global batch or a number of epochs below 1, DataError if the
///   loss is not finite.
template <class Placements, class Model, class Optimizer>
EpochReport fit(RankContext& context, Model& model, Optimizer& optimizer,
                const data::Dataset& training, const data::Dataset& validation,
                const FitOptions& options, const FitCallbacks& callbacks = {}) {
  if (options.epochs < 1) {
    throw ConfigurationError(fmt::format("fit has {} epochs; expected at least 1", options.epochs));
  }
  auto loader = detail::loader_of<Placements, typename Model::value_type>(
      context, training, options.global_batch, options.seed, data::Order::shuffled,
      detail::batches_ahead(context, options));
  EpochReport report;
  for (std::int64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    report = train_epoch<Placements>(context, model, optimizer, loader, epoch, callbacks);
    report.validation = evaluate<Placements>(context, model, validation, options.global_batch);
    if (context.rank() == 0 && callbacks.on_epoch) callbacks.on_epoch(report);
  }
  return report;
}

}  // namespace kolam::models

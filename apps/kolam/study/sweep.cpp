#include "sweep.hpp"

#include <kolam/core/error.hpp>

namespace kolam::app {

namespace {

StudyOptions options_for(const StudyOptions& study, std::int64_t batch_per_device) {
  StudyOptions options = study;
  options.batch_per_device = batch_per_device;
  options.batches = 1;
  options.warmup = 1;
  // Each step is a measurement of its own, so that their median is not disturbed by one.
  options.steps = 1;
  options.measurements = study.sweep_steps;
  return options;
}

SweepPoint measure_point(Session& session, const data::Dataset& dataset, const StudyOptions& study,
                         int devices, std::int64_t global_batch) {
  SweepPoint point{.global_batch = global_batch};
  if (global_batch % devices != 0) {
    point.outcome = SweepPoint::Outcome::does_not_divide;
    return point;
  }
  point.batch_per_device = global_batch / devices;
  if (global_batch > dataset.count()) {
    point.outcome = SweepPoint::Outcome::too_few_examples;
    return point;
  }
  const StudyOptions options = options_for(study, point.batch_per_device);
  point.needed_bytes = estimate_run(dataset, options, Path::automatic).total();
  try {
    const RunResult run = measure_run(session, dataset, options, devices, Path::automatic,
                                      [](std::int64_t, std::int64_t) {});
    point.examples_per_second = run.examples_per_second;
    point.milliseconds_per_step = run.milliseconds_per_step;
    point.peak_bytes = run.peak_bytes;
  } catch (const OutOfMemory&) {
    // The session ended all ranks; every one of them is out of this size, and the next one is
    // tried.
    point.outcome = SweepPoint::Outcome::does_not_fit;
  }
  return point;
}

}  // namespace

std::vector<SweepPoint> measure_sweep(
    Session& session, const data::Dataset& dataset, const StudyOptions& options, int devices,
    const std::function<void(std::int64_t global_batch)>& before_each) {
  std::vector<SweepPoint> points;
  for (const std::int64_t global_batch : options.sweep) {
    before_each(global_batch);
    points.push_back(measure_point(session, dataset, options, devices, global_batch));
  }
  return points;
}

}  // namespace kolam::app

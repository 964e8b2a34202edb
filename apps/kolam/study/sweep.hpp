/// \file
/// The batch sweep of the study: how throughput depends on the global batch.
#pragma once

#include <optional>

#include "measure.hpp"

namespace kolam::app {

/// One size of the sweep: measured, or why not.
struct SweepPoint {
  enum class Outcome { measured, does_not_divide, too_few_examples, does_not_fit };

  std::int64_t global_batch = 0;
  std::int64_t batch_per_device = 0;
  Outcome outcome = Outcome::measured;
  double examples_per_second = 0;
  double milliseconds_per_step = 0;
  /// What a device needs for this size, as estimated.
  std::int64_t needed_bytes = 0;
  /// What a device held at most; 0 if not measured.
  std::int64_t peak_bytes = 0;
};

/// Trains a few steps at each size of `options.sweep` on `devices` devices, one after the other;
/// memory is given back between them. A size that does not divide, needs more examples than there
/// are, or does not fit the devices' memory is passed over with its reason.
std::vector<SweepPoint> measure_sweep(
    Session& session, const data::Dataset& dataset, const StudyOptions& options, int devices,
    const std::function<void(std::int64_t global_batch)>& before_each);

}  // namespace kolam::app

/// \file
/// One measured training run of the study.
#pragma once

#include <kolam/core/data/dataset.hpp>
#include <kolam/models/memory_estimate.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/trace.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace kolam::app {

/// How the step is written: see `step.hpp`.
enum class Path { automatic, explicit_map };

struct RunResult {
  int devices = 0;
  std::int64_t global_batch = 0;
  /// Median over the measurements.
  double milliseconds_per_step = 0;
  double examples_per_second = 0;
  /// Milliseconds per step of each measurement.
  std::vector<double> measurements;
  /// Loss of the last step, before its update.
  double final_loss = 0;
  /// Share of the last step's batch that is right after its update, 0 to 1.
  double final_accuracy = 0;
  /// Every collective of one step, as rank 0 saw it; none on one device.
  std::vector<CollectiveRecord> collectives;
  /// Largest memory that a device held, in bytes.
  std::int64_t peak_bytes = 0;
  /// SHA-256 of all parameters after the last measured step.
  std::string digest;

  /// Of one step, spent in collectives, without waiting for other devices.
  double communication_milliseconds() const;
  /// Of one step, spent waiting for slower devices.
  double waiting_milliseconds() const;
};

/// Trains on `devices` devices. All batches are put on the devices first; then `warmup` steps, then
/// `measurements` times `steps` steps, each timed between two barriers. Step i uses batch i modulo
/// `batches`. Its memory is free again when it returns.
/// \param progress called by rank 0 with the number of steps done and of all steps.
/// \throws DataError if the data set has too few examples; OutOfMemory; CommunicationError.
RunResult measure_run(Session& session, const data::Dataset& dataset, const StudyOptions& options,
                      int devices, Path path,
                      const std::function<void(std::int64_t, std::int64_t)>& progress);

/// What a run needs per device, before it starts.
models::MemoryEstimate estimate_run(const data::Dataset& dataset, const StudyOptions& options,
                                    Path path);

/// Examples that runs on up to `devices` devices need.
std::int64_t examples_needed(const StudyOptions& options, int devices);

}  // namespace kolam::app

/// \file
/// What `kolam train` shows while it works: a progress bar on a terminal, one line per epoch
/// elsewhere, or lines of JSON.
#pragma once

#include <kolam/models/memory_estimate.hpp>
#include <kolam/models/training.hpp>

#include <chrono>
#include <string>

#include "../terminal/progress.hpp"
#include "options.hpp"

namespace kolam::app {

/// What a run is, for its first line.
struct TrainSetup {
  std::string dataset;
  std::int64_t training_examples = 0;
  std::int64_t test_examples = 0;
  std::int64_t parameters = 0;
  int devices = 1;
  models::MemoryEstimate memory = {};
};

/// `epoch 2/5 [######----] 281/469  loss 0.412  accuracy 85.1 %  48,120 examples/s  4 s left`, at
/// most 79 characters.
std::string progress_line(const models::BatchReport& report, std::int64_t epochs);
/// `epoch 2/5  loss 0.3961  accuracy 85.9 %  test loss 0.4012  test accuracy 85.6 %  ...`.
std::string epoch_line(const models::EpochReport& report, std::int64_t epochs);

class TrainShow {
 public:
  TrainShow(const TrainOptions& options, const TrainSetup& setup);

  void start();
  void batch(const models::BatchReport& report);
  void epoch(const models::EpochReport& report);
  void saved(const std::filesystem::path& path, std::int64_t peak_bytes);

 private:
  const TrainOptions& options_;
  TrainSetup setup_;
  Progress progress_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace kolam::app

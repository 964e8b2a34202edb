/// \file
/// Everything that a study can be told, and the two presets.
#pragma once

#include <kolam/core/kernels/gelu_math.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kolam::app {

enum class Precision { f32, f64 };

/// The fields that a preset sets are those of the `codelab` preset here.
struct StudyOptions {
  std::string preset = "codelab";
  std::int64_t width = 1024;
  std::int64_t repeats = 128;
  double mix = 0.10;
  /// Every how many repeats the state is kept for the backward pass.
  std::int64_t keep_every = 1;
  std::int64_t batch_per_device = 1024;
  std::int64_t batches = 8;
  /// Whether `batches` was asked for; otherwise a small data set may lower it.
  bool batches_are_given = false;
  std::int64_t warmup = 4;
  std::int64_t steps = 15;
  std::int64_t measurements = 3;
  double learning_rate = 3e-4;
  double weight_decay = 1e-4;
  std::uint64_t seed = 1;
  GeluForm gelu = GeluForm::tanh;
  Precision precision = Precision::f32;
  /// Global batches of the sweep over all devices; none leaves it out.
  std::vector<std::int64_t> sweep = {256, 512, 1024, 2048, 4096};
  /// Measured steps of each of them, of which the median counts, after one that is not measured.
  std::int64_t sweep_steps = 5;

  std::optional<int> devices = {};
  /// Outputs of the model; none: the classes of the data set.
  std::optional<std::int64_t> classes = {};
  std::optional<std::filesystem::path> data = {};
  std::optional<std::int64_t> memory_limit = {};
  std::optional<std::chrono::milliseconds> deadline = {};
  std::optional<std::filesystem::path> report = {};
};

/// `quick` or `codelab`. \throws ConfigurationError for another name.
StudyOptions study_preset(std::string_view name);

/// Sets one option, as named on the command line, from its text: `--width`, `512`.
/// \throws ConfigurationError if the text is not allowed for it.
void set_study_option(StudyOptions& options, std::string_view name, const std::string& text);

}  // namespace kolam::app

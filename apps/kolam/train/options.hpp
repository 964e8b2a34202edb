/// \file
/// Everything that `kolam train` can be told.
#pragma once

#include <kolam/models/mlp.hpp>
#include <kolam/models/shared_block_mlp.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kolam::app {

enum class Network { shared_block, mlp };
enum class OptimizerKind { adamw, adam, sgd };

struct TrainOptions {
  Network network = Network::shared_block;
  std::vector<std::int64_t> hidden = {128};
  models::Activation activation = models::Activation::relu;
  std::int64_t width = 512;
  std::int64_t repeats = 16;
  double mix = 0.10;
  /// Every how many repeats the state is kept for the backward pass.
  std::int64_t keep_every = 1;
  GeluForm gelu = GeluForm::tanh;

  std::int64_t epochs = 5;
  std::int64_t batch = 128;
  OptimizerKind optimizer = OptimizerKind::adamw;
  double learning_rate = 1e-3;
  double weight_decay = 1e-4;
  double momentum = 0.9;
  std::uint64_t seed = 1;

  std::optional<int> devices = {};
  std::optional<std::filesystem::path> data = {};
  std::optional<std::int64_t> memory_limit = {};
  std::optional<std::chrono::milliseconds> deadline = {};
  std::optional<std::filesystem::path> save = "model.safetensors";
  bool json = false;
};

/// Sets one option, as named on the command line, from its text.
/// \throws ConfigurationError if the text is not allowed for it.
void set_train_option(TrainOptions& options, std::string_view name, const std::string& text);

/// Refuses options that were given but mean nothing for the chosen network or optimizer.
/// \throws ConfigurationError naming the first of them.
void check_train_options(const TrainOptions& options, const std::set<std::string>& given);

/// `shared-block`, `mlp`; `adamw`, `adam`, `sgd`; `relu`, `gelu`, `gelu-exact`: as on the command
/// line.
std::string_view name_of(Network network);
std::string_view name_of(OptimizerKind optimizer);
std::string_view name_of(models::Activation activation);

}  // namespace kolam::app

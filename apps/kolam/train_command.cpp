// `kolam train`: trains a network on Fashion-MNIST or another IDX data set, and saves it.
#include <fmt/format.h>
#include <kolam/core/data/fashion_mnist.hpp>
#include <kolam/core/io/atomic_file.hpp>
#include <kolam/core/io/safetensors.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/core/optim/sgd.hpp>
#include <kolam/parallel/environment.hpp>
#include <kolam/parallel/session.hpp>

#include <map>
#include <memory>

#include "command.hpp"
#include "train/options.hpp"
#include "train/show.hpp"

namespace kolam::app {

namespace {

using Placements = models::DataParallel;
using SharedBlock = models::SharedBlockMlp<Placements>;
using Mlp = models::Mlp<Placements>;

models::SharedBlockMlpOptions shared_block_options(const TrainOptions& options,
                                                   const data::Dataset& dataset) {
  return {.inputs = dataset.features(),
          .width = options.width,
          .classes = dataset.class_count(),
          .repeats = options.repeats,
          .mix = options.mix,
          .gelu = options.gelu,
          .seed = options.seed,
          .keep_every = options.keep_every};
}

models::MlpOptions mlp_options(const TrainOptions& options, const data::Dataset& dataset) {
  return {.inputs = dataset.features(),
          .hidden = options.hidden,
          .classes = dataset.class_count(),
          .activation = options.activation,
          .seed = options.seed};
}

/// What the file says of the network; a reader needs it to build the same one.
std::map<std::string, std::string> metadata_of(const TrainOptions& options) {
  std::map<std::string, std::string> metadata = {{"format", "kolam"},
                                                 {"model", std::string(name_of(options.network))}};
  if (options.network == Network::mlp) {
    metadata["activation"] = name_of(options.activation);
    return metadata;
  }
  metadata["activation"] = options.gelu == GeluForm::tanh ? "gelu" : "gelu-exact";
  metadata["repeats"] = fmt::format("{}", options.repeats);
  metadata["mix"] = fmt::format("{}", options.mix);
  return metadata;
}

void save_parameters(const std::filesystem::path& path, const Parameters<float>& parameters,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<std::vector<float>> values;
  std::vector<io::TensorView> tensors;
  for (std::size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    values.push_back(parameters.local_values(i));
    tensors.push_back({spec.name, ScalarType::f32, spec.extents, values.back().data()});
  }
  io::write_safetensors(path, tensors, metadata);
}

/// Refuses before the training what could not be saved after it.
void check_save_path(const std::filesystem::path& path) {
  try {
    const io::AtomicFile is_possible(path);
  } catch (const DataError& error) {
    throw ConfigurationError(fmt::format(
        "--save: no file can be written there ({}); name another, or none", error.what()));
  }
}

/// What training runs on, and what it tells.
struct Run {
  Session& session;
  const TrainOptions& options;
  const data::Dataset& training;
  const data::Dataset& test;
  TrainShow& show;
};

template <class Model, class Optimizer>
void train_on(Rank& rank, const Run& run, Model& model, Optimizer& optimizer) {
  models::fit<Placements>(
      rank, model, optimizer, run.training, run.test,
      {.epochs = run.options.epochs, .global_batch = run.options.batch, .seed = run.options.seed},
      {.on_batch = [&](const models::BatchReport& report) { run.show.batch(report); },
       .on_epoch = [&](const models::EpochReport& report) { run.show.epoch(report); }});
  if (rank.rank() != 0 || !run.options.save) return;
  save_parameters(*run.options.save, model.parameters(), metadata_of(run.options));
  run.show.saved(*run.options.save, rank.arena().peak_bytes());
}

template <class Model>
void train_model(Rank& rank, const Run& run, Model& model) {
  const TrainOptions& options = run.options;
  if (options.optimizer == OptimizerKind::sgd) {
    optim::SGD optimizer(model.parameters(),
                         {.learning_rate = options.learning_rate, .momentum = options.momentum});
    train_on(rank, run, model, optimizer);
    return;
  }
  // Adam is AdamW without decay.
  const double decay = options.optimizer == OptimizerKind::adamw ? options.weight_decay : 0;
  optim::AdamW optimizer(model.parameters(),
                         {.learning_rate = options.learning_rate, .weight_decay = decay});
  train_on(rank, run, model, optimizer);
}

void train(const Run& run) {
  run.session.run(Mesh{{"data", run.session.device_count()}}, [&](Rank& rank) {
    if (run.options.network == Network::mlp) {
      Mlp model(rank, mlp_options(run.options, run.training));
      train_model(rank, run, model);
    } else {
      SharedBlock model(rank, shared_block_options(run.options, run.training));
      train_model(rank, run, model);
    }
  });
}

data::Dataset load(data::Split split, const TrainOptions& options) {
  data::Location location;
  if (options.data) location.folder = *options.data;
  return data::load_fashion_mnist(split, location);
}

void check_test_set(const data::Dataset& training, const data::Dataset& test) {
  data::check_labels(test, training.class_count());
  if (test.features() == training.features()) return;
  throw DataError(fmt::format(
      "training images have {} x {} pixels, test images {} x {}; use files of one data set",
      training.rows(), training.columns(), test.rows(), test.columns()));
}

TrainSetup setup_of(const Session& session, const TrainOptions& options,
                    const data::Dataset& training, const data::Dataset& test) {
  const int devices = session.device_count();
  const models::TrainingSizes sizes{
      .rows = (std::min(options.batch, training.count()) + devices - 1) / devices,
      .optimizer_buffers = options.optimizer == OptimizerKind::sgd ? 1 : 2,
      .batches = device_memory_is_host_accessible ? 0 : 1};
  TrainSetup setup{.dataset = training.source().string(),
                   .training_examples = training.count(),
                   .test_examples = test.count(),
                   .devices = devices};
  if (options.network == Network::mlp) {
    setup.parameters = Mlp::parameter_count(mlp_options(options, training));
    setup.memory = estimate_memory(mlp_options(options, training), sizes);
  } else {
    setup.parameters = SharedBlock::parameter_count(shared_block_options(options, training));
    setup.memory = estimate_memory(shared_block_options(options, training), sizes);
  }
  return setup;
}

int run_train(const TrainOptions& options) {
  refuse_unknown_environment();
  if (options.save) check_save_path(*options.save);
  const data::Dataset training = load(data::Split::train, options);
  const data::Dataset test = load(data::Split::test, options);
  check_test_set(training, test);
  Session session({.devices = options.devices,
                   .memory_limit = options.memory_limit,
                   .deadline = options.deadline});
  if (session.devices().front().is_shared) {
    fmt::print(stderr, "kolam: warning: {} devices share {} cores\n", session.device_count(),
               session.machine().devices.size());
  }
  TrainShow show(options, setup_of(session, options, training, test));
  show.start();
  train({session, options, training, test, show});
  return ExitCode::success;
}

struct TrainArguments {
  TrainOptions options;
  std::set<std::string> given;
};

}  // namespace

std::function<int()> add_train_command(CLI::App& program) {
  const auto arguments = std::make_shared<TrainArguments>();
  CLI::App* const command = program.add_subcommand("train", "Trains a network and saves it");
  command->get_formatter()->column_width(26);
  command->footer(
      "Trains on Fashion-MNIST or any folder of IDX files, with the test files after\n"
      "each epoch. Each example counts once, on any number of devices.\n\n"
      "Example: kolam train --model mlp --hidden 128 --epochs 5 --batch 128");
  const auto add = [&](const std::string& name, const char* type, const char* help) {
    command
        ->add_option_function<std::string>(
            name,
            [arguments, name](const std::string& text) {
              set_train_option(arguments->options, name, text);
              arguments->given.insert(name);
            },
            help)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  add("--model", "NAME", "shared-block or mlp (shared-block)");
  add("--hidden", "LIST", "of mlp: units per hidden layer, or none (128)");
  add("--activation", "NAME", "of mlp: relu, gelu or gelu-exact (relu)");
  add("--width", "N", "of shared-block: units of the block (512)");
  add("--repeats", "N", "of shared-block: repeats of the block (16)");
  add("--mix", "X", "of shared-block: share of the block (0.1)");
  add("--keep-every", "N", "of shared-block: repeats per state kept (1)");
  add("--gelu", "FORM", "of shared-block: tanh or exact (tanh)");
  add("--epochs", "N", "passes over the training examples (5)");
  add("--batch", "N", "examples per step over all devices (128)");
  add("--optimizer", "NAME", "adamw, adam or sgd (adamw)");
  add("--learning-rate", "X", "never scaled by anything (0.001)");
  add("--weight-decay", "X", "of adamw (0.0001)");
  add("--momentum", "X", "of sgd (0.9)");
  add("--devices", "N", "devices, also more than cores (one per core)");
  add("--seed", "N", "of start values and shuffling (1)");
  add("--data", "DIR", "folder of IDX files (searched: see README)");
  add("--memory-limit", "BYTES", "per device, with K, M, G or T (its share of all)");
  add("--deadline", "SECONDS", "longest wait in a collective (60)");
  add("--save", "FILE", "parameters, or none (model.safetensors)");
  command->add_flag("--json", arguments->options.json, "lines of JSON instead of text (off)");
  return [arguments] {
    check_train_options(arguments->options, arguments->given);
    return run_train(arguments->options);
  };
}

}  // namespace kolam::app

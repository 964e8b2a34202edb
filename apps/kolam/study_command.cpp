// `kolam study`: one device against all of them, automatically and explicitly.
#include <fmt/format.h>
#include <kolam/core/data/fashion_mnist.hpp>
#include <kolam/core/error.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/environment.hpp>
#include <kolam/parallel/topology.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "command.hpp"
#include "study/study.hpp"
#include "terminal/progress.hpp"
#include "terminal/text.hpp"

namespace kolam::app {

namespace {

struct StudyArguments {
  std::string preset = "quick";
  std::vector<std::pair<std::string, std::string>> given;
};

StudyOptions options_of(const StudyArguments& arguments) {
  StudyOptions options = study_preset(arguments.preset);
  for (const auto& [name, text] : arguments.given) set_study_option(options, name, text);
  return options;
}

data::Dataset load_data(const StudyOptions& options) {
  data::Location location;
  if (options.data) location.folder = *options.data;
  data::Dataset dataset = data::load_fashion_mnist(data::Split::train, location);
  data::check_labels(dataset, options.classes.value_or(dataset.class_count()));
  return dataset;
}

Workload workload_of(const data::Dataset& dataset, const StudyOptions& options) {
  const char* folder = std::getenv("KOLAM_DATA");
  const bool is_own = options.data.has_value() || (folder != nullptr && *folder != '\0');
  Workload workload;
  workload.dataset = is_own ? "IDX files" : "Fashion-MNIST";
  workload.source = dataset.source().string();
  workload.examples = dataset.count();
  workload.rows = dataset.rows();
  workload.columns = dataset.columns();
  workload.classes = dataset.class_count();
  workload.parameters = models::SharedBlockMlp<models::DataParallel>::parameter_count(
      {.inputs = dataset.features(),
       .width = options.width,
       .classes = options.classes.value_or(dataset.class_count()),
       .repeats = options.repeats});
  workload.gradient_bytes =
      checked_product(workload.parameters, options.precision == Precision::f32 ? 4 : 8);
  return workload;
}

void check_examples(const data::Dataset& dataset, const StudyOptions& options, int devices) {
  const std::int64_t needed = examples_needed(options, devices);
  if (needed <= dataset.count()) return;
  throw DataError(
      fmt::format("{} batches of {} examples on each of {} devices need {} examples, the data set "
                  "has {}; lower "
                  "--batches, --batch-per-device or --devices",
                  options.batches, options.batch_per_device, devices, with_thousands(needed),
                  with_thousands(dataset.count())));
}

RunResult shown_run(Session& session, const data::Dataset& dataset, const StudyOptions& options,
                    int devices, Path path, const std::string& name) {
  Progress progress;
  const auto show = [&](std::int64_t done, std::int64_t all) {
    if (!progress.is_shown()) return;
    progress.show(fmt::format("{}: step {} of {}", name, done, all));
  };
  return measure_run(session, dataset, options, devices, path, show);
}

/// Latency and bandwidth of the mesh of all devices.
CommunicationModel measure_mesh(Session& session, std::int64_t gradient_bytes) {
  // Of the memory that a device may take, the measurement takes a half at most.
  const std::int64_t largest = std::min(
      std::clamp<std::int64_t>(4 * gradient_bytes, 1 << 20, 64 << 20), session.memory_limit() / 2);
  CommunicationModel model{0, {{1, 1}}};
  session.run(Mesh{{"data", session.device_count()}}, [&](Rank& rank) {
    const CommunicationModel measured = measure_communication(rank, "data", largest);
    if (rank.rank() == 0) model = measured;
  });
  return model;
}

/// Prints sections as they come, and keeps them for the report.
class Show {
 public:
  void operator()(Section section) {
    fmt::print("{}", to_text(section));
    std::fflush(stdout);
    sections_.push_back(std::move(section));
  }
  const std::vector<Section>& sections() const { return sections_; }

 private:
  std::vector<Section> sections_;
};

int refuse_one_device() {
  fmt::print(
      stderr,
      "kolam: the study compares one device with several, and this run has 1; give --devices "
      "2 to let two devices share the core, or take a machine with more cores\n");
  return ExitCode::usage;
}

/// The runs on one device and on all of them, and what they mean.
void run_all(Session& session, const data::Dataset& dataset, Study& study, Show& show) {
  const StudyOptions& options = study.options;
  const int devices = study.device_count();
  study.baseline = shown_run(session, dataset, options, 1, Path::automatic, "one device");
  show(run_section("One device", study.baseline));
  show(mesh_section(study));
  show(placement_section(study));

  study.communication = measure_mesh(session, study.workload.gradient_bytes);
  const std::string all = fmt::format("{} devices", devices);
  study.automatic =
      shown_run(session, dataset, options, devices, Path::automatic, all + ", automatic");
  study.memory.peak_bytes = study.automatic.peak_bytes;
  show(run_section(all + ", automatic (only the placements changed)", study.automatic));
  study.mapped =
      shown_run(session, dataset, options, devices, Path::explicit_map, all + ", explicit");

  study.comparison = compare(study);
  show(comparison_section(study));
  show(run_section(all + ", explicit (shard_map and pmean)", study.mapped));
  show(paths_section(study));
  show(collectives_section(study));
  show(memory_section(study));
}

void run_sweep(Session& session, const data::Dataset& dataset, Study& study, Show& show) {
  {
    Progress progress;
    study.sweep = measure_sweep(session, dataset, study.options, study.device_count(),
                                [&](std::int64_t global_batch) {
                                  progress.show(fmt::format("batch sweep: {}", global_batch));
                                });
  }
  show(sweep_section(study));
}

int run_study(StudyOptions options) {
  refuse_unknown_environment();
  if (options.report) prepare_report_folder(*options.report);
  const data::Dataset dataset = load_data(options);
  Session session({.devices = options.devices,
                   .memory_limit = options.memory_limit,
                   .deadline = options.deadline});
  const int devices = session.device_count();
  const bool is_shared = session.devices().front().is_shared;
  if (!options.batches_are_given) {
    // As many as there are examples for; at least one, whose absence is then refused by name.
    options.batches = std::clamp<std::int64_t>(
        dataset.count() / (options.batch_per_device * devices), 1, options.batches);
  }
  check_examples(dataset, options, devices);

  Study study;
  study.options = options;
  study.devices = session.devices();
  study.topology = draw(cpu_topology(session.devices()));
  Show show;
  show(devices_section(study.devices, study.topology));
  if (devices < 2) return refuse_one_device();
  if (is_shared) {
    fmt::print(stderr,
               "kolam: warning: {} devices share {} cores, so they cannot be faster than the cores "
               "are\n",
               devices, session.machine().devices.size());
  }
  study.workload = workload_of(dataset, options);
  study.memory.estimate = estimate_run(dataset, options, Path::automatic);
  study.memory.limit_bytes = session.memory_limit();
  show(workload_section(study));
  run_all(session, dataset, study, show);
  if (!options.sweep.empty()) run_sweep(session, dataset, study, show);
  if (options.report) {
    write_report(*options.report, study, show.sections());
    fmt::print("The report is in {}, every figure in {}\n",
               (*options.report / "report.html").string(),
               (*options.report / "results.json").string());
  }
  return ExitCode::success;
}

constexpr const char* explanation =
    "Trains the shared-block MLP on Fashion-MNIST on one device, then on all of them,\n"
    "automatically and explicitly (shard_map and pmean). Says what the other devices\n"
    "brought and what communication cost, and sweeps the batch.\n\n"
    "Example: kolam study --preset quick --repeats 32 --report out";

}  // namespace

std::function<int()> add_study_command(CLI::App& program) {
  const auto arguments = std::make_shared<StudyArguments>();
  CLI::App* const command = program.add_subcommand("study", "One device against all of them");
  command->get_formatter()->column_width(26);
  command->footer(explanation);
  command
      ->add_option("--preset", arguments->preset,
                   "quick: 512 wide, 16 repeats, batch 256;\ncodelab: 1024, 128, 1024")
      ->type_name("NAME")
      ->capture_default_str();
  const auto add = [&](const std::string& name, const char* type, const char* help) {
    // Text, not a number: CLI11's own conversion depends on the locale.
    command
        ->add_option_function<std::string>(
            name,
            [arguments, name](const std::string& text) {
              arguments->given.emplace_back(name, text);
              StudyOptions checked;
              set_study_option(checked, name, text);
            },
            help)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  add("--devices", "N", "devices, also more than cores (one per core)");
  add("--width", "N", "units of the repeated block (by preset)");
  add("--repeats", "N", "repeats of the block (by preset)");
  add("--mix", "X", "share of the block in each repeat (0.1)");
  add("--keep-every", "N", "repeats per state kept for the backward pass (1)");
  add("--batch-per-device", "N", "examples per device and step (by preset)");
  add("--batches", "N", "batches that the steps take in turn (8)");
  add("--warmup", "N", "steps before measuring (4)");
  add("--steps", "N", "steps per measurement (15)");
  add("--measurements", "N", "measurements, of which the median counts (3)");
  add("--sweep", "LIST", "global batches, or none\n(256,512,1024,2048,4096)");
  add("--sweep-steps", "N", "measured steps of each of them (5)");
  add("--learning-rate", "X", "of AdamW (0.0003)");
  add("--weight-decay", "X", "of AdamW (0.0001)");
  add("--seed", "N", "of start values and shuffling (1)");
  add("--gelu", "FORM", "tanh or exact (tanh)");
  add("--precision", "TYPE", "f32 or f64 (f32)");
  add("--classes", "N", "outputs of the model (classes of the data)");
  add("--data", "DIR", "folder of IDX files (searched: see README)");
  add("--memory-limit", "BYTES", "per device, with K, M, G or T (its share of all)");
  add("--deadline", "SECONDS", "longest wait in a collective (60)");
  add("--report", "DIR",
      "also writes report.html, sweep.svg and\nresults.json there (nothing is written)");
  return [arguments] { return run_study(options_of(*arguments)); };
}

}  // namespace kolam::app

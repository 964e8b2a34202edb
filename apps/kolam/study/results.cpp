// results.json; its keys are described in docs/results.md.
#include <fmt/format.h>
#include <unistd.h>
#include <kolam/core/error.hpp>
#include <kolam/core/io/atomic_file.hpp>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "study.hpp"

namespace kolam::app {

namespace {

using Json = nlohmann::ordered_json;

Json run_json(const RunResult& run) {
  return {{"devices", run.devices},
          {"global_batch", run.global_batch},
          {"examples_per_second", run.examples_per_second},
          {"milliseconds_per_step", run.milliseconds_per_step},
          {"measurements_milliseconds_per_step", run.measurements},
          {"final_loss", run.final_loss},
          {"final_accuracy", run.final_accuracy},
          {"communication_milliseconds", run.communication_milliseconds()},
          {"waiting_milliseconds", run.waiting_milliseconds()},
          {"peak_bytes_per_device", run.peak_bytes},
          {"parameter_digest", run.digest}};
}

Json workload_json(const Workload& workload, const StudyOptions& options) {
  return {{"preset", options.preset},
          {"dataset", workload.dataset},
          {"source", workload.source},
          {"examples", workload.examples},
          {"rows", workload.rows},
          {"columns", workload.columns},
          {"classes", workload.classes},
          {"width", options.width},
          {"repeats", options.repeats},
          {"mix", options.mix},
          {"keep_every", options.keep_every},
          {"gelu", options.gelu == GeluForm::tanh ? "tanh" : "exact"},
          {"precision", options.precision == Precision::f32 ? "f32" : "f64"},
          {"parameters", workload.parameters},
          {"gradient_bytes", workload.gradient_bytes},
          {"batch_per_device", options.batch_per_device},
          {"batches", options.batches},
          {"warmup_steps", options.warmup},
          {"steps", options.steps},
          {"measurements", options.measurements},
          {"learning_rate", options.learning_rate},
          {"weight_decay", options.weight_decay},
          {"seed", options.seed}};
}

Json devices_json(const std::vector<DeviceInfo>& devices) {
  Json all = Json::array();
  for (const DeviceInfo& device : devices) {
    all.push_back({{"index", device.index},
                   {"kind", device.kind},
                   {"model", device.model},
                   {"processing_unit", device.processing_unit},
                   {"package", device.package},
                   {"numa_node", device.numa_node},
                   {"is_shared", device.is_shared}});
  }
  return all;
}

Json collectives_json(const Study& study, const RunResult& run) {
  Json all = Json::array();
  for (const CollectiveRecord& record : run.collectives) {
    Json axes = Json::array();
    for (const AxisName& name : record.axes) axes.push_back(std::string(name.view()));
    all.push_back(
        {{"label", record.label},
         {"collective", std::string(name_of(record.kind))},
         {"axes", axes},
         {"bytes", record.bytes},
         {"predicted_milliseconds",
          1000 * study.communication.seconds(record.kind, record.bytes, record.group_size)},
         {"measured_milliseconds", 1000 * record.seconds},
         {"waited_milliseconds", 1000 * record.waited_seconds}});
  }
  return all;
}

Json communication_json(const Study& study) {
  Json bandwidth = Json::array();
  for (const CommunicationModel::Point& point : study.communication.bandwidth()) {
    bandwidth.push_back({{"bytes", point.bytes}, {"bytes_per_second", point.bytes_per_second}});
  }
  return {{"latency_microseconds", 1e6 * study.communication.latency_seconds()},
          {"bandwidth", bandwidth},
          {"automatic", collectives_json(study, study.automatic)},
          {"explicit", collectives_json(study, study.mapped)}};
}

Json memory_json(const Memory& memory) {
  return {{"parameters_bytes", memory.estimate.parameters},
          {"gradients_bytes", memory.estimate.gradients},
          {"optimizer_bytes", memory.estimate.optimizer},
          {"activations_bytes", memory.estimate.activations},
          {"batches_bytes", memory.estimate.batch},
          {"estimated_bytes", memory.estimate.total()},
          {"used_bytes", memory.peak_bytes},
          {"limit_bytes", memory.limit_bytes}};
}

std::string_view name_of(SweepPoint::Outcome outcome) {
  switch (outcome) {
    case SweepPoint::Outcome::measured:
      return "measured";
    case SweepPoint::Outcome::does_not_divide:
      return "does_not_divide";
    case SweepPoint::Outcome::too_few_examples:
      return "too_few_examples";
    case SweepPoint::Outcome::does_not_fit:
      return "does_not_fit";
  }
  return "?";
}

Json sweep_json(const std::vector<SweepPoint>& sweep) {
  Json all = Json::array();
  for (const SweepPoint& point : sweep) {
    Json entry = {{"global_batch", point.global_batch},
                  {"outcome", std::string(name_of(point.outcome))}};
    if (point.batch_per_device > 0) entry["batch_per_device"] = point.batch_per_device;
    if (point.needed_bytes > 0) entry["estimated_bytes"] = point.needed_bytes;
    if (point.outcome == SweepPoint::Outcome::measured) {
      entry["examples_per_second"] = point.examples_per_second;
      entry["milliseconds_per_step"] = point.milliseconds_per_step;
      entry["used_bytes"] = point.peak_bytes;
    }
    all.push_back(entry);
  }
  return all;
}

std::string reason() {
  return std::strerror(errno);
}

}  // namespace

std::string results_json(const Study& study, const std::vector<Section>& sections) {
  const Comparison& comparison = study.comparison;
  const Json all = {{"workload", workload_json(study.workload, study.options)},
                    {"devices", devices_json(study.devices)},
                    {"baseline", run_json(study.baseline)},
                    {"automatic", run_json(study.automatic)},
                    {"explicit", run_json(study.mapped)},
                    {"comparison",
                     {{"throughput_ratio", comparison.throughput_ratio},
                      {"efficiency", comparison.efficiency},
                      {"step_time_ratio", comparison.step_time_ratio},
                      {"communication_share", comparison.communication_share},
                      {"has_improved", comparison.has_improved},
                      {"explicit_ratio", comparison.explicit_ratio},
                      {"digests_are_equal", comparison.digests_are_equal},
                      {"message", comparison.message}}},
                    {"communication", communication_json(study)},
                    {"memory", memory_json(study.memory)},
                    {"sweep", sweep_json(study.sweep)},
                    {"tables", tables_json(sections)}};
  return all.dump(2) + "\n";
}

void prepare_report_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw ConfigurationError(
        fmt::format("--report {}: the folder cannot be made ({}); name one that can be written",
                    folder.string(), error ? error.message() : "it is not a folder"));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw ConfigurationError(fmt::format(
        "--report {}: the folder cannot be written ({}); name another", folder.string(), reason()));
  }
}

void write_report(const std::filesystem::path& folder, const Study& study,
                  const std::vector<Section>& sections) {
  io::write_file(folder / "results.json", results_json(study, sections));
  io::write_file(folder / "report.html", to_html("kolam study", sections));
  const Plot plot = sweep_plot(study.sweep);
  if (!plot.points.empty()) {
    io::write_file(folder / "sweep.svg", to_svg(plot));
  } else {
    // One of an earlier study would be taken for this one's.
    std::error_code none;
    std::filesystem::remove(folder / "sweep.svg", none);
  }
}

}  // namespace kolam::app

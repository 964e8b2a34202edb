// results.json; its keys are described in docs/results.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <kolam/core/error.hpp>

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
          {"allreduce_milliseconds", run.allreduce_milliseconds},
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

std::string reason() {
  return std::strerror(errno);
}

}  // namespace

std::string results_json(const std::vector<DeviceInfo>& devices, const Workload& workload,
                         const StudyOptions& options, const RunResult& baseline,
                         const RunResult& automatic, const RunResult& mapped,
                         const Comparison& comparison) {
  const Json all = {{"workload", workload_json(workload, options)},
                    {"devices", devices_json(devices)},
                    {"baseline", run_json(baseline)},
                    {"automatic", run_json(automatic)},
                    {"explicit", run_json(mapped)},
                    {"comparison",
                     {{"throughput_ratio", comparison.throughput_ratio},
                      {"efficiency", comparison.efficiency},
                      {"step_time_ratio", comparison.step_time_ratio},
                      {"communication_share", comparison.communication_share},
                      {"has_improved", comparison.has_improved},
                      {"explicit_ratio", comparison.explicit_ratio},
                      {"digests_are_equal", comparison.digests_are_equal},
                      {"message", comparison.message}}}};
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

void write_whole(const std::filesystem::path& path, const std::string& content) {
  std::string temporary = path.string() + ".XXXXXX";
  const int file = mkstemp(temporary.data());
  if (file < 0) {
    throw DataError(fmt::format("{} cannot be written ({})", path.string(), reason()));
  }
  std::size_t written = 0;
  bool is_good = fchmod(file, 0644) == 0;
  while (is_good && written < content.size()) {
    const ssize_t count = write(file, content.data() + written, content.size() - written);
    is_good = count > 0;
    if (is_good) written += static_cast<std::size_t>(count);
  }
  is_good = is_good && fsync(file) == 0;
  std::string why = is_good ? std::string() : reason();
  if (close(file) != 0 && is_good) {
    is_good = false;
    why = reason();
  }
  if (is_good && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (is_good) why = reason();
  unlink(temporary.c_str());
  throw DataError(fmt::format("{} cannot be written ({})", path.string(), why));
}

}  // namespace kolam::app

/// \file
/// The figures of a whole study, what they mean, and how they are written: on the terminal and as
/// `results.json`. No measuring here, so all of it can be tested with made-up figures.
#pragma once

#include <kolam/parallel/devices.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace kolam::app {

struct Workload {
  std::string dataset;
  std::string source;
  std::int64_t examples = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t classes = 0;
  std::int64_t parameters = 0;
  std::int64_t gradient_bytes = 0;
};

struct Comparison {
  /// Throughput of all devices over that of one.
  double throughput_ratio = 0;
  /// That ratio over the number of devices, 0 to about 1.
  double efficiency = 0;
  /// Step time of all devices over that of one.
  double step_time_ratio = 0;
  /// Share of a step that one allreduce of the gradients takes, measured alone.
  double communication_share = 0;
  bool has_improved = false;
  /// Explicit throughput over automatic throughput.
  double explicit_ratio = 0;
  bool digests_are_equal = false;
  std::string message;
};

/// \param devices_share_cores whether there were more devices than cores.
Comparison compare(const RunResult& baseline, const RunResult& automatic, const RunResult& mapped,
                   const Workload& workload, const StudyOptions& options, bool devices_share_cores);

std::string devices_text(const std::vector<DeviceInfo>& devices);
std::string workload_text(const Workload& workload, const StudyOptions& options, int devices);
std::string run_text(const std::string& title, const RunResult& run);
std::string mesh_text(const std::vector<DeviceInfo>& devices);
std::string placement_text(const Workload& workload, const StudyOptions& options, int devices);
std::string comparison_text(const RunResult& baseline, const RunResult& automatic,
                            const Comparison& comparison);
std::string paths_text(const RunResult& automatic, const RunResult& mapped,
                       const Comparison& comparison);

/// Every figure of a study as JSON; the keys are described in docs/results.md.
std::string results_json(const std::vector<DeviceInfo>& devices, const Workload& workload,
                         const StudyOptions& options, const RunResult& baseline,
                         const RunResult& automatic, const RunResult& mapped,
                         const Comparison& comparison);

/// Makes the folder and checks that a file can be written there.
/// \throws ConfigurationError if not.
void prepare_report_folder(const std::filesystem::path& folder);

/// Writes a file under a temporary name and renames it, so that it is whole or not there.
/// \throws DataError if that fails.
void write_whole(const std::filesystem::path& path, const std::string& content);

}  // namespace kolam::app

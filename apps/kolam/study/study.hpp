/// \file
/// The figures of a whole study, what they mean, and how they are written: as sections to show, and
/// as `results.json`. No measuring here, so all of it can be tested with made-up figures.
#pragma once

#include <kolam/parallel/communication_model.hpp>
#include <kolam/parallel/devices.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "../report/document.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "sweep.hpp"

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
  /// Share of a step that its collectives take, without waiting for slower devices.
  double communication_share = 0;
  bool has_improved = false;
  /// Explicit throughput over automatic throughput.
  double explicit_ratio = 0;
  bool digests_are_equal = false;
  std::string message;
};

/// Memory per device of the automatic run: what was expected, and what it took.
struct Memory {
  models::MemoryEstimate estimate;
  std::int64_t peak_bytes = 0;
  std::int64_t limit_bytes = 0;
};

/// Everything that a study found out.
struct Study {
  StudyOptions options;
  std::vector<DeviceInfo> devices;
  /// How the devices are connected, drawn.
  std::string topology;
  Workload workload;
  CommunicationModel communication{0, {{1, 1}}};
  Memory memory;
  RunResult baseline;
  RunResult automatic;
  RunResult mapped;
  Comparison comparison;
  std::vector<SweepPoint> sweep;

  int device_count() const { return static_cast<int>(devices.size()); }
};

/// What the runs mean; fills no other part of the study.
Comparison compare(const Study& study);

Section devices_section(const std::vector<DeviceInfo>& devices, const std::string& topology);
Section workload_section(const Study& study);
Section run_section(const std::string& title, const RunResult& run);
Section mesh_section(const Study& study);
Section placement_section(const Study& study);
Section comparison_section(const Study& study);
Section paths_section(const Study& study);
Section collectives_section(const Study& study);
Section memory_section(const Study& study);
Section sweep_section(const Study& study);

/// Examples per second over the global batch, of the sizes that were measured.
Plot sweep_plot(const std::vector<SweepPoint>& sweep);

/// Every figure of a study as JSON; the keys are described in docs/results.md.
/// \param sections what was shown, for its tables.
std::string results_json(const Study& study, const std::vector<Section>& sections);

/// Makes the folder and checks that a file can be written there.
/// \throws ConfigurationError if not.
void prepare_report_folder(const std::filesystem::path& folder);

/// Writes `results.json`, `report.html` and, where there was a sweep, `sweep.svg`; each is whole or
/// not there. \throws DataError if that fails.
void write_report(const std::filesystem::path& folder, const Study& study,
                  const std::vector<Section>& sections);

}  // namespace kolam::app

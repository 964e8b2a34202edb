/// \file
/// The devices of this machine that ranks can be given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kolam {

/// One place that computes: here a CPU core that this process may use.
struct DeviceInfo {
  int index = 0;
  /// `cpu core`.
  std::string kind;
  /// Model name of the processor.
  std::string model;
  /// The operating system's number of the core's first hardware thread; what a rank is pinned to.
  int processing_unit = 0;
  /// Hardware threads of the core that this process may use.
  int hardware_threads = 1;
  int package = 0;
  int numa_node = 0;
  /// Whether another rank has the same core (more devices were asked for than there are cores).
  bool is_shared = false;
};

struct MachineInfo {
  std::vector<DeviceInfo> devices;
  /// Physical memory in bytes.
  std::int64_t memory_bytes = 0;
};

/// Finds the cores through hwloc; respects the affinity and cpuset of this process.
/// \throws ConfigurationError if hwloc cannot read the topology.
MachineInfo find_machine();

/// `count` devices: the first cores, and again from the first where there are not enough.
std::vector<DeviceInfo> take_devices(const MachineInfo& machine, int count);

/// Pins the calling thread to a device's core. \returns whether the system allowed it.
bool pin_to(const DeviceInfo& device);

}  // namespace kolam

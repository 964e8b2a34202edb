/// \file
/// How near the devices of this machine are to each other: which pairs of CPU cores share a cache
/// or a memory node, and which pairs of GPUs are joined by NVLink or only through the host. Found
/// out once and drawn as text, so that a slow collective can be traced to the wire it goes through.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kolam/parallel/devices.hpp>

struct hwloc_topology;

namespace kolam {

/// What joins two devices.
struct Link {
  /// `L3`, `NV4`, `SYS`; `X` from a device to itself.
  std::string name;
  /// Larger is slower; 0 is the device itself. Orders the links of one topology and measures
  /// nothing: 4 is not twice as slow as 2.
  int distance = 0;
  /// The name in words, for a legend.
  std::string meaning;
};

struct Topology {
  std::vector<std::string> devices;
  /// Square and symmetric: `links[a][b]` joins `devices[a]` and `devices[b]`.
  std::vector<std::vector<Link>> links;
  /// Where in the machine each device is, as in `package 0: NUMA node 0: L3 0`; empty if not known.
  std::vector<std::string> places;
};

/// What every device is joined to itself with.
Link link_to_itself();

/// For each pair of cores the nearest thing that both have: `core`, `L2`, `L3`, `NUMA` (the memory
/// node), `package`, or `machine` where the packages differ.
/// \throws ConfigurationError if hwloc cannot read the topology or does not know a device's core.
Topology cpu_topology(const std::vector<DeviceInfo>& devices);

/// The same in a loaded hwloc topology, which need not be that of this machine.
Topology cpu_topology(const std::vector<DeviceInfo>& devices, hwloc_topology* machine);

/// Reads what `nvidia-smi topo -m` prints. From the fastest: NV# (more links are faster), PIX, PXB,
/// PHB, NODE, SYS, and then every kind not known here. Where the two entries of a pair differ, both
/// become the slower one. Network cards are left out.
/// \throws DataError if there is no GPU in the text, or a row is missing or does not fit the
/// header.
Topology parse_nvidia_smi_topology(std::string_view text);

/// Asks the `nvidia-smi` on the PATH. \returns nothing where there is none, where it fails or takes
/// longer than `limit`, and where it shows no GPU.
/// \throws DataError if it shows GPUs in a matrix that cannot be read.
std::optional<Topology> gpu_topology(
    std::chrono::milliseconds limit = std::chrono::milliseconds(5000));

/// The slowest link between different devices, the first of several; null for fewer than two
/// devices. Points into `topology`.
const Link* slowest_link(const Topology& topology);
const Link* slowest_link(Topology&& topology) = delete;

/// The matrix as ASCII text, a line for each kind of link in it, and where the places are known a
/// line for each place with the devices there. Within 80 columns unless there are too many devices.
std::string draw(const Topology& topology);

}  // namespace kolam

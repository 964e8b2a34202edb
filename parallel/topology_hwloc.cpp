/// \file
/// How near CPU cores are to each other, from hwloc's tree of packages, caches and memory nodes.
#include <fmt/format.h>
#include <hwloc.h>
#include <kolam/core/error.hpp>
#include <kolam/parallel/topology.hpp>

#include <memory>

namespace kolam {

namespace {

struct HwlocDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, HwlocDeleter>;

HwlocTopology load_machine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    throw ConfigurationError("hwloc could not be started, so the topology is not known");
  }
  HwlocTopology topology(raw);
  // Its GPU plugins start whole drivers, which costs more than everything else at start-up.
  for (const char* plugin : {"opencl", "cuda", "nvml", "gl"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  if (hwloc_topology_load(raw) != 0) {
    throw ConfigurationError("hwloc could not read the topology, so it is not known");
  }
  return topology;
}

/// What a core is part of; null where the machine has or shows no such thing.
struct Surroundings {
  hwloc_obj_t core = nullptr;
  hwloc_obj_t level_2 = nullptr;
  hwloc_obj_t level_3 = nullptr;
  /// The object that the nearest memory hangs on. Not the set of nodes: memory that is attached to
  /// the whole machine is in the set of every core.
  hwloc_obj_t memory = nullptr;
  hwloc_obj_t package = nullptr;
};

Surroundings surroundings_of(hwloc_topology_t machine, const DeviceInfo& device) {
  const auto number = static_cast<unsigned>(device.processing_unit);
  const hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(machine, number);
  if (unit == nullptr) {
    throw ConfigurationError(
        fmt::format("device {} is on processing unit {}, which hwloc does not know; take the "
                    "devices from find_machine()",
                    device.index, device.processing_unit));
  }
  Surroundings found;
  found.core = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_CORE, unit);
  // Some virtual machines show no cores, only hardware threads.
  if (found.core == nullptr) found.core = unit;
  found.level_2 = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_L2CACHE, unit);
  found.level_3 = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_L3CACHE, unit);
  found.package = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_PACKAGE, unit);
  found.memory = unit;
  while (found.memory != nullptr && found.memory->memory_arity == 0) {
    found.memory = found.memory->parent;
  }
  return found;
}

bool is_same(hwloc_obj_t one, hwloc_obj_t other) {
  return one != nullptr && one == other;
}

Link link_between(const Surroundings& one, const Surroundings& other) {
  if (is_same(one.core, other.core)) return {"core", 1, "the same core"};
  if (is_same(one.level_2, other.level_2)) return {"L2", 2, "the same level 2 cache"};
  if (is_same(one.level_3, other.level_3)) return {"L3", 3, "the same level 3 cache"};
  // One memory node may span several packages (interleaved memory, virtual machines); what joins
  // the cores is then still the wire between the packages.
  if (one.package == other.package) {
    if (is_same(one.memory, other.memory)) return {"NUMA", 4, "the same memory node"};
    if (one.package != nullptr) return {"package", 5, "the same package, another memory node"};
  }
  return {"machine", 6, "different packages of this machine"};
}

/// The operating system's number of the first memory node at an object.
unsigned node_number(hwloc_obj_t object) {
  hwloc_obj_t node = object->memory_first_child;
  // A memory-side cache may be in between.
  while (node->type != HWLOC_OBJ_NUMANODE) node = node->memory_first_child;
  return node->os_index;
}

std::string place_of(const Surroundings& found) {
  std::string place = "machine";
  if (found.package != nullptr) place = fmt::format("package {}", found.package->logical_index);
  if (found.memory != nullptr) place += fmt::format(": NUMA node {}", node_number(found.memory));
  if (found.level_3 != nullptr) place += fmt::format(": L3 {}", found.level_3->logical_index);
  return place;
}

}  // namespace

Topology cpu_topology(const std::vector<DeviceInfo>& devices, hwloc_topology* machine) {
  Topology topology;
  std::vector<Surroundings> surroundings;
  for (const DeviceInfo& device : devices) {
    surroundings.push_back(surroundings_of(machine, device));
    topology.devices.push_back(std::to_string(device.index));
    topology.places.push_back(place_of(surroundings.back()));
  }
  for (std::size_t row = 0; row < devices.size(); ++row) {
    auto& links = topology.links.emplace_back();
    for (std::size_t column = 0; column < devices.size(); ++column) {
      links.push_back(row == column ? link_to_itself()
                                    : link_between(surroundings[row], surroundings[column]));
    }
  }
  return topology;
}

Topology cpu_topology(const std::vector<DeviceInfo>& devices) {
  return cpu_topology(devices, load_machine().get());
}

}  // namespace kolam

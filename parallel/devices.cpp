#include <kolam/parallel/devices.hpp>

#include <fmt/format.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <fstream>
#include <memory>

namespace kolam {

namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    throw ConfigurationError("hwloc could not be started, so the cores are not known");
  }
  Topology topology(raw);
  // Its GPU plugins start whole drivers, which costs more than everything else at start-up.
  for (const char* plugin : {"opencl", "cuda", "nvml", "gl"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  if (hwloc_topology_load(raw) != 0) {
    throw ConfigurationError("hwloc could not read the topology, so the cores are not known");
  }
  return topology;
}

std::string info_of(hwloc_obj_t object, const char* key) {
  for (; object != nullptr; object = object->parent) {
    const char* text = hwloc_obj_get_info_by_name(object, key);
    if (text != nullptr) return text;
  }
  return {};
}

DeviceInfo device_of(hwloc_topology_t topology, hwloc_obj_t core, hwloc_const_bitmap_t allowed) {
  DeviceInfo device;
  device.kind = "cpu core";
  device.model = info_of(core, "CPUModel");
  hwloc_bitmap_t usable = hwloc_bitmap_dup(core->cpuset);
  hwloc_bitmap_and(usable, usable, allowed);
  device.processing_unit = hwloc_bitmap_first(usable);
  device.hardware_threads = hwloc_bitmap_weight(usable);
  hwloc_bitmap_free(usable);
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
  if (package != nullptr) device.package = static_cast<int>(package->logical_index);
  if (core->nodeset != nullptr) device.numa_node = std::max(0, hwloc_bitmap_first(core->nodeset));
  return device;
}

/// Physical memory, or the limit of the control group where that is lower. Not hwloc's figure: in
/// some virtual machines it counts one node of several.
std::int64_t usable_memory() {
  std::int64_t bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::int64_t limit = 0;
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    // "max" is no number: no limit.
    std::ifstream file(path);
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace

MachineInfo find_machine() {
  const Topology topology = load_topology();
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology.get(), allowed, HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology.get()));
  }
  MachineInfo machine;
  // Some virtual machines show no cores, only hardware threads.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology.get(), type, static_cast<unsigned>(i));
    if (!hwloc_bitmap_intersects(core->cpuset, allowed)) continue;
    machine.devices.push_back(device_of(topology.get(), core, allowed));
    machine.devices.back().index = static_cast<int>(machine.devices.size()) - 1;
  }
  hwloc_bitmap_free(allowed);
  machine.memory_bytes = usable_memory();
  if (machine.devices.empty()) {
    throw ConfigurationError("hwloc found no core that this process may use; check its affinity");
  }
  return machine;
}

std::vector<DeviceInfo> take_devices(const MachineInfo& machine, int count) {
  const auto cores = static_cast<int>(machine.devices.size());
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(machine.devices[static_cast<std::size_t>(i % cores)]);
    devices.back().index = i;
    devices.back().is_shared = count > cores;
  }
  return devices;
}

bool pin_to(const DeviceInfo& device) {
  if (device.processing_unit < 0 || device.processing_unit >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(device.processing_unit), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

}  // namespace kolam

// Topologies: nvidia-smi's matrix, hwloc's tree, and how both are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>

#include <kolam/core/error.hpp>
#include <kolam/parallel/topology.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace {

using namespace kolam;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

template <class E, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing of the expected type was thrown";
}

std::string parse_failure(std::string_view text) {
  return message_of<DataError>([&] { parse_nvidia_smi_topology(text); });
}

/// The names in the matrix, row by row.
std::vector<std::vector<std::string>> names_of(const Topology& topology) {
  std::vector<std::vector<std::string>> names;
  for (const auto& row : topology.links) {
    auto& line = names.emplace_back();
    for (const Link& link : row) line.push_back(link.name);
  }
  return names;
}

void expect_well_formed(const Topology& topology) {
  const std::size_t count = topology.devices.size();
  ASSERT_EQ(topology.links.size(), count);
  for (std::size_t a = 0; a < count; ++a) {
    ASSERT_EQ(topology.links[a].size(), count);
    EXPECT_EQ(topology.links[a][a].distance, 0);
    for (std::size_t b = 0; b < count; ++b) {
      EXPECT_FALSE(topology.links[a][b].name.empty()) << a << " " << b;
      EXPECT_EQ(topology.links[a][b].name, topology.links[b][a].name) << a << " " << b;
      EXPECT_EQ(topology.links[a][b].distance, topology.links[b][a].distance) << a << " " << b;
      EXPECT_EQ(topology.links[a][b].distance == 0, a == b) << a << " " << b;
    }
  }
}

// As printed: tabs, an underlined header, two network cards, affinities, and the legends.
constexpr const char* four_gpus =
    "\t\033[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tmlx5_0\tCPU Affinity\tNUMA Affinity\tGPU NUMA "
    "ID\033[0m\n"
    "GPU0\t X \tNV4\tSYS\tSYS\tPXB\tSYS\t0-15,32-47\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tSYS\tSYS\tPXB\tSYS\t0-15,32-47\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tNV12\tSYS\tPIX\t16-31,48-63\t1\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNV12\t X \tSYS\tPHB\t16-31,48-63\t1\t\tN/A\n"
    "NIC0\tPXB\tPXB\tSYS\tSYS\t X \tSYS\t\t\t\t\n"
    "mlx5_0\tSYS\tSYS\tPIX\tPHB\tSYS\t X \t\t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_1\n";

/// Two GPUs joined by one kind of link.
std::string pair_joined_by(const std::string& kind) {
  return "     GPU0  GPU1\nGPU0  X  " + kind + "\nGPU1  " + kind + "  X\n";
}

int distance_of(const std::string& kind) {
  return parse_nvidia_smi_topology(pair_joined_by(kind)).links[0][1].distance;
}

TEST(NvidiaSmiTopology, LeavesOutNetworkCardsAffinitiesAndLegends) {
  const Topology topology = parse_nvidia_smi_topology(four_gpus);
  EXPECT_THAT(topology.devices, ElementsAre("GPU0", "GPU1", "GPU2", "GPU3"));
  EXPECT_THAT(
      names_of(topology),
      ElementsAre(ElementsAre("X", "NV4", "SYS", "SYS"), ElementsAre("NV4", "X", "SYS", "SYS"),
                  ElementsAre("SYS", "SYS", "X", "NV12"), ElementsAre("SYS", "SYS", "NV12", "X")));
  expect_well_formed(topology);
}

TEST(NvidiaSmiTopology, IsTheSameWithSpacesAndWithWindowsLineEnds) {
  const auto expected = names_of(parse_nvidia_smi_topology(four_gpus));
  std::string spaces;
  std::string line_ends;
  for (const char* c = four_gpus; *c != '\0'; ++c) {
    spaces += *c == '\t' ? std::string("    ") : std::string(1, *c);
    line_ends += *c == '\n' ? std::string("\r\n") : std::string(1, *c);
  }
  EXPECT_EQ(names_of(parse_nvidia_smi_topology(spaces)), expected);
  EXPECT_EQ(names_of(parse_nvidia_smi_topology(line_ends)), expected);
}

TEST(NvidiaSmiTopology, RemovesCodesAroundEachHeaderCell) {
  const Topology topology = parse_nvidia_smi_topology(
      "\t\033[4m\033[1;32mGPU0\033[0m\t\033[4mGPU1\033[m\t\033[4mCPU Affinity\033[0m\n"
      "\033[1mGPU0\033[0m\t X \tPIX\t0-7\nGPU1\tPIX\t X \t0-7\n");
  EXPECT_THAT(names_of(topology), ElementsAre(ElementsAre("X", "PIX"), ElementsAre("PIX", "X")));
}

TEST(NvidiaSmiTopology, ReadsOneGpu) {
  const Topology topology = parse_nvidia_smi_topology(
      "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-15\t0\t\tN/A\n");
  EXPECT_THAT(topology.devices, ElementsAre("GPU0"));
  expect_well_formed(topology);
  EXPECT_EQ(slowest_link(topology), nullptr);
}

TEST(NvidiaSmiTopology, OrdersTheKinds) {
  const std::vector<std::string> kinds = {"NV18", "NV12", "NV4",  "NV1", "PIX",
                                          "PXB",  "PHB",  "NODE", "SYS", "C2C"};
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    EXPECT_LT(distance_of(kinds[i - 1]), distance_of(kinds[i])) << kinds[i];
  }
  EXPECT_GT(distance_of("NV99"), 0);
}

TEST(NvidiaSmiTopology, KeepsTheNameOfAnUnknownKind) {
  for (const char* kind : {"SOC", "NV", "NV0", "NV4X", "NV123"}) {
    const Link link = parse_nvidia_smi_topology(pair_joined_by(kind)).links[0][1];
    EXPECT_EQ(link.name, kind);
    EXPECT_GT(link.distance, distance_of("SYS")) << kind;
    EXPECT_THAT(link.meaning, HasSubstr("not known"));
  }
}

TEST(NvidiaSmiTopology, TakesTheSlowerOfTwoDifferentEntries) {
  const Topology topology = parse_nvidia_smi_topology(
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tPHB\t X \tNV2\nGPU2\tPIX\tNV1\t X \n");
  EXPECT_THAT(names_of(topology),
              ElementsAre(ElementsAre("X", "PHB", "SYS"), ElementsAre("PHB", "X", "NV1"),
                          ElementsAre("SYS", "NV1", "X")));
}

TEST(NvidiaSmiTopology, RefusesARowThatLacksACell) {
  const std::string rows = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV4\tNV4\t0-7\n";
  EXPECT_THAT(parse_failure(rows + "GPU1\tNV4\t X \t0-7\nGPU2\tNV4\tNV4\t X \t0-7\n"),
              AllOf(HasSubstr("row GPU1"), HasSubstr("2 cells"), HasSubstr("3 GPUs")));
  EXPECT_THAT(parse_failure(rows + "GPU1\tNV4\t X \tN/A\nGPU2\tNV4\tNV4\t X \t0-7\n"),
              AllOf(HasSubstr("row GPU1"), HasSubstr("2 cells"), HasSubstr("3 GPUs")));
  EXPECT_THAT(parse_failure(rows + "GPU1\tNV4\t X \tNV4\nGPU2\n"),
              AllOf(HasSubstr("row GPU2"), HasSubstr("0 cells"), HasSubstr("3 GPUs")));
  EXPECT_THAT(parse_failure("\tGPU0\tGPU1\tNIC0\nGPU0\t X \tPIX\nGPU1\tPIX\t X \tPIX\n"),
              AllOf(HasSubstr("row GPU0"), HasSubstr("2 cells"), HasSubstr("3 columns"),
                    HasSubstr("2 GPUs")));
}

TEST(NvidiaSmiTopology, RefusesAMissingRow) {
  EXPECT_THAT(parse_failure("\tGPU0\tGPU1\nGPU0\t X \tNV4\n"), HasSubstr("column GPU1"));
}

TEST(NvidiaSmiTopology, RefusesAnXInTheWrongPlace) {
  EXPECT_THAT(parse_failure("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\t X \tNV4\n"),
              AllOf(HasSubstr("row GPU1"), HasSubstr("X in the column GPU0")));
  EXPECT_THAT(parse_failure("\tGPU0\tGPU1\nGPU0\tPIX\tNV4\nGPU1\tNV4\t X \n"),
              AllOf(HasSubstr("row GPU0"), HasSubstr("PIX in the column GPU0")));
}

TEST(NvidiaSmiTopology, RefusesTextWithoutGpus) {
  EXPECT_THAT(parse_failure(""), HasSubstr("no GPU"));
  EXPECT_THAT(parse_failure("No devices were found\n"), HasSubstr("no GPU"));
  EXPECT_THAT(parse_failure("\tNIC0\tCPU Affinity\tGPU NUMA ID\nNIC0\t X \n"), HasSubstr("no GPU"));
  EXPECT_THAT(parse_failure("\033[4"), HasSubstr("no GPU"));
  EXPECT_THAT(parse_failure("\033"), HasSubstr("no GPU"));
}

/// A folder that is the whole PATH while it lives, with an `nvidia-smi` if a script is given.
class Path {
 public:
  explicit Path(const std::string& script) : before_(std::getenv("PATH")) {
    std::string name = testing::TempDir() + "kolam_topology_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    if (!script.empty()) {
      const std::filesystem::path program = folder_ / "nvidia-smi";
      std::ofstream(program) << "#!/bin/sh\n" << script;
      std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
    setenv("PATH", folder_.c_str(), 1);
  }
  ~Path() {
    setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string before_;
  std::filesystem::path folder_;
};

TEST(GpuTopology, ReadsWhatNvidiaSmiPrints) {
  const Path path("test \"$1 $2 $#\" = 'topo -m 2' || exit 1\n/bin/cat <<'END'\n" +
                  std::string(four_gpus) + "END\n");
  const std::optional<Topology> topology = gpu_topology();
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(names_of(*topology), names_of(parse_nvidia_smi_topology(four_gpus)));
}

TEST(GpuTopology, IsNothingWithoutNvidiaSmi) {
  const Path path("");
  EXPECT_FALSE(gpu_topology().has_value());
}

TEST(GpuTopology, IsNothingWhereNvidiaSmiFails) {
  const Path path("echo 'GPU0'; echo 'GPU0 X'; exit 9\n");
  EXPECT_FALSE(gpu_topology().has_value());
}

TEST(GpuTopology, IsNothingWithoutGpus) {
  const Path path("echo 'No devices were found'\n");
  EXPECT_FALSE(gpu_topology().has_value());
}

TEST(GpuTopology, ThrowsOnAMatrixThatCannotBeRead) {
  const Path path("echo ' GPU0 GPU1'; echo 'GPU0 X NV4'\n");
  EXPECT_THROW(gpu_topology(), DataError);
}

TEST(GpuTopology, DoesNotShowWhatNvidiaSmiComplainsAbout) {
  const Path path("echo 'driver mismatch' >&2; exit 18\n");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(gpu_topology().has_value());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(GpuTopology, GivesUpAfterTheLimit) {
  for (const char* script : {"exec /bin/sleep 20\n", "exec >/dev/null; exec /bin/sleep 20\n"}) {
    const Path path(script);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(gpu_topology(200ms).has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  }
}

/// The topology of a machine that hwloc makes up, with a device on each of its first cores.
Topology synthetic(const char* description, int count, int units_per_core = 1) {
  hwloc_topology_t raw = nullptr;
  hwloc_topology_init(&raw);
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> machine(
      raw, &hwloc_topology_destroy);
  EXPECT_EQ(hwloc_topology_set_synthetic(raw, description), 0) << description;
  EXPECT_EQ(hwloc_topology_load(raw), 0);
  std::vector<DeviceInfo> devices(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    devices[static_cast<std::size_t>(i)].index = i;
    devices[static_cast<std::size_t>(i)].processing_unit = i * units_per_core;
  }
  return cpu_topology(devices, raw);
}

std::vector<std::string> first_row(const Topology& topology) {
  return names_of(topology)[0];
}

TEST(CpuTopology, FindsTheNearestThingShared) {
  // Cores 0 and 1 share a level 2 cache, 0-3 a level 3, 0-7 a memory node, 0-15 a package.
  const Topology topology = synthetic("package:2 numa:2 l3:2 l2:2 core:2 pu:2", 32, 2);
  expect_well_formed(topology);
  const std::vector<std::string> row = first_row(topology);
  const std::vector<std::string> expected = {"X",    "L2",   "L3",   "L3",     "NUMA",
                                             "NUMA", "NUMA", "NUMA", "package"};
  EXPECT_THAT(std::vector<std::string>(row.begin(), row.begin() + 9),
              testing::ElementsAreArray(expected));
  EXPECT_EQ(row[15], "package");
  EXPECT_EQ(row[16], "machine");
  EXPECT_EQ(row[31], "machine");
  for (std::size_t i = 2; i < row.size(); ++i) {
    EXPECT_LE(topology.links[0][i - 1].distance, topology.links[0][i].distance) << i;
  }
}

TEST(CpuTopology, FindsDevicesOnOneCore) {
  // Both hardware threads of a core, in devices 0 and 1.
  EXPECT_THAT(first_row(synthetic("package:1 l3:1 l2:2 core:1 pu:2", 4)),
              ElementsAre("X", "core", "L3", "L3"));
}

TEST(CpuTopology, FindsTwoRanksOnOneProcessingUnit) {
  MachineInfo machine = find_machine();
  machine.devices.resize(1);
  const Topology topology = cpu_topology(take_devices(machine, 2));
  expect_well_formed(topology);
  EXPECT_EQ(topology.links[0][1].name, "core");
}

TEST(CpuTopology, ManagesWithoutCachesAndPackages) {
  EXPECT_THAT(first_row(synthetic("numa:2 core:2 pu:1", 4)),
              ElementsAre("X", "NUMA", "machine", "machine"));
  EXPECT_THAT(first_row(synthetic("pu:2", 2)), ElementsAre("X", "NUMA"));
}

TEST(CpuTopology, GoesThroughTheMachineWhereAMemoryNodeSpansPackages) {
  EXPECT_THAT(first_row(synthetic("numa:1 package:2 core:2 pu:1", 4)),
              ElementsAre("X", "NUMA", "machine", "machine"));
}

TEST(CpuTopology, TakesTheNearestMemoryNodeWhereThereIsMoreForAll) {
  // Memory of each package, and a node that is attached to the whole machine.
  EXPECT_THAT(first_row(synthetic("[numa] package:2 [numa] core:2 pu:1", 4)),
              ElementsAre("X", "NUMA", "machine", "machine"));
  EXPECT_THAT(first_row(synthetic("[numa] package:1 group:2 [numa] core:2 pu:1", 4)),
              ElementsAre("X", "NUMA", "package", "package"));
}

TEST(CpuTopology, RefusesAProcessingUnitThatIsNotThere) {
  EXPECT_THAT(message_of<ConfigurationError>([] { synthetic("core:2 pu:1", 3); }),
              AllOf(HasSubstr("device 2"), HasSubstr("processing unit 2")));
  std::vector<DeviceInfo> devices(1);
  devices[0].processing_unit = -1;
  EXPECT_THROW(cpu_topology(devices), ConfigurationError);
}

TEST(CpuTopology, JoinsAllCoresOfThisMachine) {
  const MachineInfo machine = find_machine();
  const Topology topology = cpu_topology(machine.devices);
  EXPECT_EQ(topology.devices.size(), machine.devices.size());
  EXPECT_EQ(topology.places.size(), machine.devices.size());
  expect_well_formed(topology);
  EXPECT_EQ(draw(topology).empty(), topology.devices.empty());
}

TEST(CpuTopology, IsEmptyWithoutDevices) {
  const Topology topology = cpu_topology({});
  expect_well_formed(topology);
  EXPECT_EQ(slowest_link(topology), nullptr);
  EXPECT_EQ(draw(topology), "");
}

TEST(SlowestLink, IsTheOneWithTheLargestDistance) {
  const Topology gpus = parse_nvidia_smi_topology(four_gpus);
  ASSERT_NE(slowest_link(gpus), nullptr);
  EXPECT_EQ(slowest_link(gpus), &gpus.links[0][2]);
  const Topology joined = parse_nvidia_smi_topology(pair_joined_by("NV18"));
  EXPECT_EQ(slowest_link(joined)->name, "NV18");
}

TEST(DrawTopology, AlignsTheColumnsAndExplainsEachKind) {
  EXPECT_EQ(draw(parse_nvidia_smi_topology(four_gpus)),
            "        GPU0  GPU1  GPU2  GPU3\n"
            "  GPU0  X     NV4   SYS   SYS\n"
            "  GPU1  NV4   X     SYS   SYS\n"
            "  GPU2  SYS   SYS   X     NV12\n"
            "  GPU3  SYS   SYS   NV12  X\n"
            "  NV12  12 NVLinks\n"
            "  NV4   4 NVLinks\n"
            "  SYS   the wire between memory nodes\n");
  EXPECT_THAT(draw(parse_nvidia_smi_topology(pair_joined_by("NV1"))),
              HasSubstr("  NV1  1 NVLink\n"));
}

TEST(DrawTopology, ShowsWhereTheCoresAre) {
  EXPECT_EQ(draw(synthetic("package:2 numa:1 l3:1 l2:2 core:1 pu:1", 4)),
            "     0        1        2        3\n"
            "  0  X        L3       machine  machine\n"
            "  1  L3       X        machine  machine\n"
            "  2  machine  machine  X        L3\n"
            "  3  machine  machine  L3       X\n"
            "  L3       the same level 3 cache\n"
            "  machine  different packages of this machine\n"
            "  package 0: NUMA node 0: L3 0: devices 0 1\n"
            "  package 1: NUMA node 1: L3 1: devices 2 3\n");
  const std::string five = draw(synthetic("package:1 l3:2 core:4 pu:1", 5));
  EXPECT_THAT(five, AllOf(HasSubstr("  package 0: NUMA node 0: L3 0: devices 0-3\n"),
                          HasSubstr("  package 0: NUMA node 0: L3 1: device 4\n")));
}

TEST(DrawTopology, StaysWithinEightyColumnsForTwelveGpus) {
  std::string header;
  std::string rows;
  for (int a = 0; a < 12; ++a) {
    header += "\tGPU" + std::to_string(a);
    rows += "GPU" + std::to_string(a);
    for (int b = 0; b < 12; ++b) rows += a == b ? "\t X " : "\tSYS";
    rows += "\n";
  }
  const std::string text = draw(parse_nvidia_smi_topology(header + "\n" + rows));
  std::size_t widest = 0;
  for (std::size_t first = 0, last = 0; first < text.size(); first = last + 1) {
    last = text.find('\n', first);
    widest = std::max(widest, last - first);
  }
  EXPECT_LE(widest, 80U);
  EXPECT_THAT(text, AllOf(Not(HasSubstr(" \n")), Not(HasSubstr("\t"))));
}

}  // namespace

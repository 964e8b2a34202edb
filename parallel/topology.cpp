/// \file
/// Topologies as text, and the slowest link in one; what does not depend on where they come from.
#include <fmt/format.h>
#include <kolam/parallel/topology.hpp>

#include <algorithm>
#include <map>
#include <numeric>

namespace kolam {

namespace {

constexpr std::size_t line_width = 80;
constexpr const char* indentation = "  ";

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// The matrix with its header and row names; columns only as wide as what is in them.
std::string draw_matrix(const Topology& topology) {
  const std::size_t count = topology.devices.size();
  std::size_t name_width = 0;
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < count; ++column) {
    std::size_t width = topology.devices[column].size();
    name_width = std::max(name_width, width);
    for (const auto& row : topology.links) width = std::max(width, row[column].name.size());
    widths.push_back(width);
  }
  const std::size_t text_width =
      std::accumulate(widths.begin(), widths.end(), name_width + std::string(indentation).size());
  const std::string gap(text_width + 2 * count <= line_width ? 2 : 1, ' ');
  std::string header = indentation + std::string(name_width, ' ');
  for (std::size_t column = 0; column < count; ++column) {
    header += gap + fmt::format("{:<{}}", topology.devices[column], widths[column]);
  }
  std::string text = without_trailing_spaces(header);
  for (std::size_t row = 0; row < count; ++row) {
    std::string line = indentation + fmt::format("{:<{}}", topology.devices[row], name_width);
    for (std::size_t column = 0; column < count; ++column) {
      line += gap + fmt::format("{:<{}}", topology.links[row][column].name, widths[column]);
    }
    text += without_trailing_spaces(line);
  }
  return text;
}

/// A line for each kind of link between different devices, the fastest first.
std::string draw_legend(const Topology& topology) {
  std::map<std::pair<int, std::string>, std::string> meanings;
  std::size_t width = 0;
  for (const auto& row : topology.links) {
    for (const Link& link : row) {
      if (link.distance == 0) continue;
      meanings[{link.distance, link.name}] = link.meaning;
      width = std::max(width, link.name.size());
    }
  }
  std::string text;
  for (const auto& [kind, meaning] : meanings) {
    text += fmt::format("{}{:<{}}  {}\n", indentation, kind.second, width, meaning);
  }
  return text;
}

/// Names of devices; three and more in a row as the first and the last of them: `0-3 8`.
std::string name_devices(const Topology& topology, const std::vector<std::size_t>& members) {
  std::string text;
  for (std::size_t first = 0; first < members.size();) {
    std::size_t last = first;
    while (last + 1 < members.size() && members[last + 1] == members[last] + 1) ++last;
    text += " " + topology.devices[members[first]];
    if (last > first) {
      text += (last == first + 1 ? " " : "-") + topology.devices[members[last]];
    }
    first = last + 1;
  }
  return text;
}

/// A line for each place with the devices there, in the order in which the places come up.
std::string draw_places(const Topology& topology) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> places;
  for (std::size_t device = 0; device < topology.places.size(); ++device) {
    const std::string& name = topology.places[device];
    auto place = std::ranges::find_if(places, [&](const auto& p) { return p.first == name; });
    if (place == places.end()) place = places.insert(place, {name, {}});
    place->second.push_back(device);
  }
  std::string text;
  for (const auto& [name, members] : places) {
    text +=
        fmt::format("{}{}: {}{}\n", indentation, name, members.size() == 1 ? "device" : "devices",
                    name_devices(topology, members));
  }
  return text;
}

}  // namespace

Link link_to_itself() {
  return {"X", 0, "the device itself"};
}

const Link* slowest_link(const Topology& topology) {
  const Link* slowest = nullptr;
  for (std::size_t row = 0; row < topology.links.size(); ++row) {
    for (std::size_t column = row + 1; column < topology.links[row].size(); ++column) {
      const Link& link = topology.links[row][column];
      if (slowest == nullptr || link.distance > slowest->distance) slowest = &link;
    }
  }
  return slowest;
}

std::string draw(const Topology& topology) {
  if (topology.devices.empty()) return {};
  return draw_matrix(topology) + draw_legend(topology) + draw_places(topology);
}

}  // namespace kolam

#include <kolam/core/array/sharding.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kolam {

namespace {

AxisName runtime_name(std::string_view text) {
  if (text.empty() || text.size() >= AxisName::capacity) {
    throw ConfigurationError(
        fmt::format("a mesh axis is named \"{}\"; a name has 1 to {} "
                    "characters",
                    text, AxisName::capacity - 1));
  }
  AxisName name;
  std::copy(text.begin(), text.end(), name.text);
  return name;
}

const std::vector<double>* weights_of(const Mesh& mesh, std::string_view axis) {
  for (const MeshAxis& mine : mesh.axes())
    if (mine.name == axis && !mine.weights.empty()) return &mine.weights;
  return nullptr;
}

/// Cuts at the rounded cumulative shares, so that neighbours agree and nothing is lost.
Slice weighted_slice(std::int64_t extent, const std::vector<double>& weights, int index) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto cut = [&](int parts) {
    const double share = std::accumulate(weights.begin(), weights.begin() + parts, 0.0) / total;
    return parts == static_cast<int>(weights.size())
               ? extent
               : static_cast<std::int64_t>(std::llround(share * static_cast<double>(extent)));
  };
  const std::int64_t begin = cut(index);
  return {begin, cut(index + 1) - begin};
}

}  // namespace

Slice even_slice(std::int64_t extent, int parts, int index) {
  const std::int64_t base = extent / parts;
  const std::int64_t longer = extent % parts;
  return {index * base + std::min<std::int64_t>(index, longer), base + (index < longer ? 1 : 0)};
}

Slice local_slice(const Mesh& mesh, int rank, const Axes& axes, std::int64_t extent) {
  const bool weighted = std::any_of(axes.begin(), axes.end(), [&](const AxisName& name) {
    return weights_of(mesh, name.view()) != nullptr;
  });
  if (!weighted) return even_slice(extent, mesh.group_size(axes), mesh.group_index(rank, axes));
  Slice slice{0, extent};
  for (const AxisName& name : axes) {
    const std::vector<double>* weights = weights_of(mesh, name.view());
    const int coordinate = mesh.coordinate(rank, name.view());
    const Slice inner = weights != nullptr
                            ? weighted_slice(slice.length, *weights, coordinate)
                            : even_slice(slice.length, mesh.axis_size(name.view()), coordinate);
    slice = {slice.begin + inner.begin, inner.length};
  }
  return slice;
}

Extents local_extents(const Mesh& mesh, int rank, const Placement& placement,
                      const Extents& global) {
  Extents local;
  for (int i = 0; i < global.dimensions(); ++i) {
    const Axes& axes = placement.split[i];
    local.append(axes.empty() ? global[i] : local_slice(mesh, rank, axes, global[i]).length);
  }
  return local;
}

PartitionSpec::PartitionSpec(
    std::initializer_list<std::initializer_list<std::string_view>> dimensions) {
  if (dimensions.size() > split_.size()) {
    throw ConfigurationError(
        fmt::format("a partition spec names {} dimensions; at most {} are "
                    "possible",
                    dimensions.size(), split_.size()));
  }
  std::size_t dimension = 0;
  Axes seen;
  for (const auto& names : dimensions) {
    for (const std::string_view text : names) {
      const AxisName name = runtime_name(text);
      if (seen.contains(name)) {
        throw ConfigurationError(
            fmt::format("a partition spec uses mesh axis \"{}\" twice; an axis splits one "
                        "dimension",
                        text));
      }
      if (seen.count == Axes::capacity) {
        throw ConfigurationError("a partition spec uses more than four mesh axes");
      }
      seen = seen.with(name);
      split_[dimension] = split_[dimension].with(name);
    }
    ++dimension;
  }
}

PartitionSpec::PartitionSpec(const Placement& placement) {
  std::copy(std::begin(placement.split), std::end(placement.split), split_.begin());
}

bool PartitionSpec::is_replicated() const {
  return std::all_of(split_.begin(), split_.end(), [](const Axes& axes) { return axes.empty(); });
}

Placement PartitionSpec::placement() const {
  Placement placement;
  std::copy(split_.begin(), split_.end(), std::begin(placement.split));
  return placement;
}

namespace {

std::string split_text(const Axes& axes) {
  if (axes.empty()) return "none";
  std::string names;
  for (const AxisName& name : axes) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name.view());
  }
  return axes.count == 1 ? names : "(" + names + ")";
}

std::string joined(const Axes& axes) {
  std::string names;
  for (const AxisName& name : axes) names += fmt::format("@{}", name.view());
  return names;
}

}  // namespace

std::string to_string(const PartitionSpec& spec, int dimensions) {
  if (spec.is_replicated()) return "P()";
  std::string text = "P(";
  for (int i = 0; i < dimensions; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", split_text(spec[i]));
  }
  return text + ")";
}

std::array<Slice, Extents::max_dimensions> NamedSharding::slices(const Extents& global,
                                                                 int rank) const {
  std::array<Slice, Extents::max_dimensions> result{};
  for (int i = 0; i < global.dimensions(); ++i) {
    result[static_cast<std::size_t>(i)] = local_slice(mesh, rank, spec[i], global[i]);
  }
  return result;
}

Extents NamedSharding::local_extents(const Extents& global, int rank) const {
  Extents local;
  const auto mine = slices(global, rank);
  for (int i = 0; i < global.dimensions(); ++i) {
    local.append(mine[static_cast<std::size_t>(i)].length);
  }
  return local;
}

std::int64_t NamedSharding::largest_local_count(const Extents& global) const {
  std::int64_t largest = 0;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    largest = std::max(largest, local_extents(global, rank).count());
  }
  return largest;
}

std::string typed_shape(std::string_view scalar, const Extents& extents,
                        const Placement& placement) {
  std::string text = fmt::format("{}[", scalar);
  for (int i = 0; i < extents.dimensions(); ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", extents[i], joined(placement.split[i]));
  }
  text += "]";
  if (!placement.pending.empty()) text += " pending" + joined(placement.pending);
  if (!placement.varying.empty()) text += " varying" + joined(placement.varying);
  return text;
}

}  // namespace kolam

#include <kolam/core/array/mesh.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <cmath>

namespace kolam {

Mesh::Mesh(std::initializer_list<MeshAxis> axes) : Mesh(std::vector<MeshAxis>(axes)) {}

Mesh::Mesh(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {
  check();
  for (const MeshAxis& axis : axes_) {
    if (__builtin_mul_overflow(size_, axis.size, &size_)) {
      throw ConfigurationError("a mesh has more ranks than a 32-bit integer holds; use fewer");
    }
  }
}

void Mesh::check() const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const MeshAxis& axis = axes_[i];
    if (axis.name.empty() || axis.name.size() >= AxisName::capacity) {
      throw ConfigurationError(
          fmt::format("a mesh axis is named \"{}\"; a name has 1 to {} characters", axis.name,
                      AxisName::capacity - 1));
    }
    if (axis.size < 1) {
      throw ConfigurationError(
          fmt::format("mesh axis \"{}\" has size {}; expected at least 1", axis.name, axis.size));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (axes_[j].name == axis.name) {
        throw ConfigurationError(fmt::format(
            "mesh axis \"{}\" is named twice; each axis needs its own name", axis.name));
      }
    }
    if (axis.weights.empty()) continue;
    if (axis.weights.size() != static_cast<std::size_t>(axis.size)) {
      throw ConfigurationError(
          fmt::format("mesh axis \"{}\" has size {} and {} weights; expected "
                      "one weight per coordinate",
                      axis.name, axis.size, axis.weights.size()));
    }
    for (const double weight : axis.weights) {
      if (!std::isfinite(weight) || weight <= 0.0) {
        throw ConfigurationError(fmt::format(
            "mesh axis \"{}\" has a weight of {}; expected a positive number", axis.name, weight));
      }
    }
  }
}

int Mesh::axis_size(std::string_view name) const {
  for (const MeshAxis& axis : axes_)
    if (axis.name == name) return axis.size;
  return 1;
}

int Mesh::group_size(const Axes& axes) const {
  int product = 1;
  for (const AxisName& name : axes) product *= axis_size(name.view());
  return product;
}

int Mesh::coordinate(int rank, std::string_view name) const {
  int stride = size_;
  for (const MeshAxis& axis : axes_) {
    stride /= axis.size;
    if (axis.name == name) return (rank / stride) % axis.size;
  }
  return 0;
}

int Mesh::group_index(int rank, const Axes& axes) const {
  int index = 0;
  for (const AxisName& name : axes) {
    index = index * axis_size(name.view()) + coordinate(rank, name.view());
  }
  return index;
}

std::vector<int> Mesh::group(int rank, const Axes& axes) const {
  std::vector<int> members(static_cast<std::size_t>(group_size(axes)));
  for (int other = 0; other < size_; ++other) {
    bool belongs = true;
    for (const MeshAxis& axis : axes_) {
      bool free = false;
      for (const AxisName& name : axes) free = free || name.view() == axis.name;
      belongs = belongs && (free || coordinate(other, axis.name) == coordinate(rank, axis.name));
    }
    if (belongs) members[static_cast<std::size_t>(group_index(other, axes))] = other;
  }
  return members;
}

bool Mesh::operator==(const Mesh& other) const {
  if (axes_.size() != other.axes_.size()) return false;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name != other.axes_[i].name || axes_[i].size != other.axes_[i].size ||
        axes_[i].weights != other.axes_[i].weights) {
      return false;
    }
  }
  return true;
}

std::string to_string(const Mesh& mesh) {
  std::string text = "{";
  for (std::size_t i = 0; i < mesh.axes().size(); ++i) {
    text +=
        fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", mesh.axes()[i].name, mesh.axes()[i].size);
  }
  return text + "}";
}

}  // namespace kolam

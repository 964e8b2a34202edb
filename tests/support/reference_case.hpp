/// \file
/// Reads a folder of `tests/data/reference`: published values of the shared-block MLP.
#pragma once

#include <kolam/core/array/extents.hpp>
#include <kolam/core/array/host_tensor.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kolam::test {

class ReferenceCase {
 public:
  /// \param name `base` or `fashion`.
  explicit ReferenceCase(const std::string& name);

  double scalar(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  bool has(const std::string& tensor, const std::string& type) const;
  Extents extents(const std::string& tensor, const std::string& type) const;
  /// Values of `tensor.type`, where type is f32 or f64, as doubles.
  std::vector<double> values(const std::string& tensor, const std::string& type) const;
  std::vector<std::int32_t> labels() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, Extents> manifest_;
  std::map<std::string, double> scalars_;
};

/// Largest difference over the largest expected magnitude.
double relative_error(const std::vector<double>& actual, const std::vector<double>& expected);

}  // namespace kolam::test

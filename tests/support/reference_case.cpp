#include "reference_case.hpp"

#include <kolam/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace kolam::test {

namespace {

template <class T>
std::vector<T> read_raw(const std::filesystem::path& path, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw DataError("reference file " + path.string() + " is missing or has another size");
  }
  return values;
}

}  // namespace

ReferenceCase::ReferenceCase(const std::string& name)
    : folder_(std::filesystem::path(KOLAM_REFERENCE_DATA) / name) {
  std::ifstream manifest(folder_ / "manifest.txt");
  for (std::string line; std::getline(manifest, line);) {
    std::istringstream words(line);
    std::string tensor;
    std::string type;
    words >> tensor >> type;
    Extents extents;
    for (std::int64_t extent = 0; words >> extent;) extents.append(extent);
    manifest_[tensor + "." + type] = extents;
  }
  std::ifstream scalars(folder_ / "scalars.txt");
  std::string key;
  for (double value = 0; scalars >> key >> value;) scalars_[key] = value;
  if (manifest_.empty() || scalars_.empty()) {
    throw DataError("reference folder " + folder_.string() + " is missing or empty");
  }
}

double ReferenceCase::scalar(const std::string& key) const {
  return scalars_.at(key);
}

std::int64_t ReferenceCase::integer(const std::string& key) const {
  return static_cast<std::int64_t>(scalars_.at(key));
}

bool ReferenceCase::has(const std::string& tensor, const std::string& type) const {
  return manifest_.contains(tensor + "." + type);
}

Extents ReferenceCase::extents(const std::string& tensor, const std::string& type) const {
  return manifest_.at(tensor + "." + type);
}

std::vector<double> ReferenceCase::values(const std::string& tensor,
                                          const std::string& type) const {
  const std::int64_t count = extents(tensor, type).count();
  const auto path = folder_ / (tensor + "." + type);
  if (type == "f64") return read_raw<double>(path, count);
  const std::vector<float> narrow = read_raw<float>(path, count);
  return {narrow.begin(), narrow.end()};
}

std::vector<std::int32_t> ReferenceCase::labels() const {
  return read_raw<std::int32_t>(folder_ / "y.i32", extents("y", "i32").count());
}

double relative_error(const std::vector<double>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(actual[i] - expected[i]));
  }
  return largest == 0 ? difference : difference / largest;
}

}  // namespace kolam::test

/// \file
/// Named arrays in one file, in the safetensors format (github.com/huggingface/safetensors).
///
/// A file is the header's length (8 bytes, little-endian), a JSON header that names every tensor's
/// element type, shape and place, and the elements. Python's `safetensors` reads what is written
/// here, and the other way round for the element types of ScalarType.
#pragma once

#include <kolam/core/array/extents.hpp>
#include <kolam/core/scalar_type.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kolam::io {

/// A tensor to be written: row-major elements in host memory, without gaps.
struct TensorView {
  std::string name;
  ScalarType type = ScalarType::f32;
  Extents extents;
  const void* data = nullptr;
};

/// A tensor of a file. `begin` and `end` count bytes from the first element of the file.
struct TensorInfo {
  std::string name;
  ScalarType type = ScalarType::f32;
  Extents extents;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Replaces the file at `path`, or makes it; readers never see half of it (see AtomicFile).
/// Elements are stored in the order of `tensors`, starting at a multiple of 64 bytes.
/// \throws DataError for a name that occurs twice, is reserved or is not UTF-8, and for a path that
/// cannot be written; ShapeError for extents whose product does not fit.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// The content of a file. The whole header is checked before memory for the elements is taken.
class Safetensors {
 public:
  /// \throws DataError if the file cannot be read, is damaged, has bytes that belong to no tensor,
  /// or has an element type or a number of dimensions that kolam does not have.
  static Safetensors read(const std::filesystem::path& path);

  /// In the order of their elements in the file.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The tensor's elements. They are aligned only as far as the tensors before them allow: copy
  /// them, do not cast. \throws DataError if there is no tensor of this name.
  std::span<const std::byte> data(std::string_view name) const;

 private:
  Safetensors() = default;

  std::filesystem::path path_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> positions_;
  std::map<std::string, std::string> metadata_;
  std::unique_ptr<std::uint8_t[]> bytes_;
};

}  // namespace kolam::io

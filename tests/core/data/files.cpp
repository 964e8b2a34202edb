#include "files.hpp"

#include <kolam/core/data/checksum.hpp>

#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>

namespace kolam::data::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "kolam_data_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TemporaryFolder::write(const std::string& name, const Bytes& bytes) const {
  fs::path path = path_ / name;
  std::ofstream out(path, std::ios::binary);
  std::copy(bytes.begin(), bytes.end(), std::ostreambuf_iterator<char>(out));
  out.close();
  if (!out) throw std::runtime_error("cannot write a test file");
  return path;
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path_)) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

Bytes big_endian(const std::vector<std::uint32_t>& numbers) {
  Bytes bytes;
  for (const std::uint32_t number : numbers)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::uint8_t>(number >> shift));
  return bytes;
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes noise(std::size_t count) {
  Bytes bytes(count);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return bytes;
}

Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes compressed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = compressed.data();
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int code = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::runtime_error("cannot compress a test file");
  return compressed;
}

Bytes idx_images(std::uint32_t n) {
  return big_endian({0x00000803, n, 28, 28}) + noise(std::size_t{n} * 28 * 28);
}

Bytes idx_labels(std::uint32_t n, std::uint32_t classes) {
  Bytes bytes = big_endian({0x00000801, n});
  for (std::uint32_t i = 0; i < n; ++i) bytes.push_back(static_cast<std::uint8_t>(i % classes));
  return bytes;
}

std::string md5_of(const Bytes& bytes) {
  return md5(std::as_bytes(std::span(bytes)));
}

}  // namespace kolam::data::test

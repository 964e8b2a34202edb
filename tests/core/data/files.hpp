/// \file
/// What the tests of data sets share: a temporary folder, tiny IDX files and gzip.
#pragma once

#include <kolam/core/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kolam::data::test {

using Bytes = std::vector<std::uint8_t>;

/// A fresh folder, removed with everything in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file and returns its path.
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const;
  /// Names of all entries, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

/// Four bytes per number, big-endian.
Bytes big_endian(const std::vector<std::uint32_t>& numbers);

Bytes operator+(Bytes left, const Bytes& right);

/// `count` bytes that do not compress well and differ from place to place.
Bytes noise(std::size_t count);

/// One gzip member.
Bytes gzip(const Bytes& bytes);

/// `00000803 | n | 28 | 28 | noise`.
Bytes idx_images(std::uint32_t n);

/// `00000801 | n | labels 0, 1, ... modulo classes`.
Bytes idx_labels(std::uint32_t n, std::uint32_t classes = 10);

/// MD5 in hexadecimal.
std::string md5_of(const Bytes& bytes);

/// The message with which the call is refused; fails the test if it is accepted, or if the message
/// takes more than one line.
template <class Refusal = DataError, class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Refusal& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "accepted, expected a refusal";
  return {};
}

}  // namespace kolam::data::test

/// \file
/// A regular file opened for reading, and file names as they appear in messages.
///
/// Folders, pipes and devices are refused at once (opening a pipe never waits for its writer), and
/// every failure is a DataError that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace kolam::data {

/// The text with control characters replaced by `?`, so that a message stays on one line.
std::string one_line(std::string_view text);

/// The path in single quotes, on one line.
std::string quote(const std::filesystem::path& path);

/// The operating system's text for an error number, e.g. "No such file or directory".
std::string system_message(int error_number);

/// Owns one file descriptor.
class RegularFile {
 public:
  /// \throws DataError if the file cannot be opened or is not a regular file.
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Size in bytes when the file was opened.
  std::int64_t bytes() const { return bytes_; }
  /// Fills `buffer` and returns the number of bytes read; fewer only at the end of the file.
  std::size_t read(std::span<std::uint8_t> buffer);
  /// The next read starts at the first byte again.
  void rewind();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

}  // namespace kolam::data

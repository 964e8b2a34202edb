/// \file
/// Files that are replaced as a whole: readers see the old content or the new one, never half.
///
/// The content goes to a temporary file in the same folder, which takes the path's place only when
/// everything is on the disk. Whatever goes wrong before that leaves the old file as it was.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kolam::io {

/// One file being written; nothing is seen at its path before `commit`.
///
/// A symbolic link is followed: its target is replaced, the link stays. The permission bits of a
/// file that exists are kept. After a failure the temporary file is gone and the object is closed.
class AtomicFile {
 public:
  /// \throws DataError if the path is a folder, a pipe or a device, or if its folder cannot be
  /// written.
  explicit AtomicFile(const std::filesystem::path& path);
  /// Without `commit` before, removes the temporary file.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Adds bytes at the end.
  /// \throws DataError with the path and the system's reason if they cannot be stored.
  void write(std::span<const std::byte> bytes);

  /// Flushes the file to the disk, puts it in the path's place and flushes its folder; ends the
  /// object's use.
  /// \throws DataError with the path and the system's reason. The old file is then still in place,
  /// unless the message says that the flushing of the folder failed.
  void commit();

 private:
  void keep_permissions(const std::filesystem::path& target);
  void open_temporary(const std::filesystem::path& folder);
  void check_open() const;
  [[noreturn]] void fail(std::string_view what, int error_number);
  void discard() noexcept;

  std::filesystem::path path_;         // as given, for messages
  std::filesystem::path target_name_;  // inside the folder
  std::string temporary_name_;         // inside the folder; empty once there is nothing to remove
  std::optional<mode_t> permissions_;  // of the file that is replaced
  int folder_ = -1;
  int file_ = -1;
};

/// Replaces the file at `path`, or makes it, with this content. \throws DataError
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace kolam::io

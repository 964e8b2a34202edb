#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>
#include <kolam/core/io/atomic_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace kolam::io {

namespace {

namespace fs = std::filesystem;

const char* advice(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space there or give a path with more room";
    case EIO:
      return "check the disk and give a path on another one";
    case ENOENT:
    case ENOTDIR:
      return "make the folder first or give a path in one that exists";
    default:
      return "give a path that can be written";
  }
}

[[noreturn]] void refuse(const fs::path& path, std::string_view what, int error_number) {
  throw DataError(fmt::format("cannot {} {}: {}; {}", what, data::quote(path),
                              data::system_message(error_number), advice(error_number)));
}

/// The path that symbolic links lead to; it need not exist.
fs::path follow_links(const fs::path& path) {
  constexpr int most_links = 40;  // as many as Linux follows
  fs::path target = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    if (i == most_links) refuse(path, "follow the symbolic links of", ELOOP);
    const fs::path next = fs::read_symlink(target, error);
    if (error) refuse(path, "follow the symbolic link", error.value());
    target = target.parent_path() / next;
  }
  return target;
}

int flush(int descriptor) {
  while (::fsync(descriptor) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  const fs::path target = follow_links(path);
  target_name_ = target.filename();
  if (target_name_.empty()) refuse(path, "write", path.empty() ? ENOENT : EISDIR);
  keep_permissions(target);
  open_temporary(target.has_parent_path() ? target.parent_path() : fs::path("."));
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::keep_permissions(const fs::path& target) {
  struct stat status {};
  if (::lstat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    refuse(path_, "write", errno);
  }
  // Renaming a file over a device would take the device away.
  if (!S_ISREG(status.st_mode))
    throw DataError(fmt::format(
        "{} is {}, expected a regular file or a new name; give another path", data::quote(path_),
        S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket"));
  permissions_ = status.st_mode & 07777;
}

void AtomicFile::open_temporary(const fs::path& folder) {
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) fail("open the folder of", errno);
  // Never more open than the file it replaces; the umask applies to new files as usual.
  const mode_t mode = permissions_ ? *permissions_ & 0777 : 0666;
  constexpr int most_names = 10'000;
  for (int i = 0; file_ < 0; ++i) {
    // O_EXCL makes the name unique: among threads, and beside what a killed process left behind.
    temporary_name_ = fmt::format(".kolam-{}-{}.tmp", ::getpid(), i);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    file_ = ::openat(folder_, temporary_name_.c_str(), flags, mode);
    if (file_ >= 0 || (errno == EEXIST && i < most_names)) continue;
    const int error_number = errno;
    temporary_name_.clear();
    fail("create a temporary file beside", error_number);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  check_open();
  constexpr std::size_t largest_request = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), std::min(bytes.size(), largest_request));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write", count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  check_open();
  if (permissions_ && ::fchmod(file_, *permissions_) != 0) fail("set the permissions of", errno);
  if (const int error_number = flush(file_); error_number != 0) fail("flush", error_number);
  // Linux has closed the file even when a signal interrupted the call.
  if (::close(std::exchange(file_, -1)) != 0 && errno != EINTR) fail("close", errno);
  if (::renameat(folder_, temporary_name_.c_str(), folder_, target_name_.c_str()) != 0)
    fail("rename the finished file to", errno);
  temporary_name_.clear();
  // Some file systems have nothing to flush for a folder and answer EINVAL.
  if (const int error_number = flush(folder_); error_number != 0 && error_number != EINVAL)
    fail("flush the folder of the replaced file", error_number);
  discard();
}

void AtomicFile::check_open() const {
  if (file_ < 0)
    throw DataError(fmt::format(
        "{} is no longer being written: it was committed or had failed; start a new AtomicFile",
        data::quote(path_)));
}

void AtomicFile::fail(std::string_view what, int error_number) {
  discard();
  refuse(path_, what, error_number);
}

void AtomicFile::discard() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_name_.empty()) ::unlinkat(folder_, temporary_name_.c_str(), 0);
  temporary_name_.clear();
  if (folder_ >= 0) ::close(std::exchange(folder_, -1));
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

}  // namespace kolam::io

#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace kolam::data {

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what, int error_number) {
  throw DataError(fmt::format("cannot {} {}: {}; check that the file exists and is readable", what,
                              quote(path), system_message(error_number)));
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return line;
}

std::string quote(const std::filesystem::path& path) {
  return fmt::format("'{}'", one_line(path.string()));
}

std::string system_message(int error_number) {
  return std::generic_category().message(error_number);
}

RegularFile::RegularFile(const std::filesystem::path& path) : path_(path) {
  // O_NONBLOCK: opening a pipe without a writer must not wait. It means nothing for regular files.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) fail(path, "open", errno);
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  const int error_number = errno;
  if (known && S_ISREG(status.st_mode)) {
    bytes_ = status.st_size;
    return;
  }
  ::close(descriptor_);
  if (!known) fail(path, "read the size of", error_number);
  throw DataError(fmt::format("{} is {}, expected a regular file; give the path of a file",
                              quote(path), kind_of(status.st_mode)));
}

RegularFile::~RegularFile() {
  ::close(descriptor_);
}

std::size_t RegularFile::read(std::span<std::uint8_t> buffer) {
  constexpr std::size_t largest_request = std::size_t{1} << 30;
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const std::size_t request = std::min(buffer.size() - filled, largest_request);
    const ssize_t count = ::read(descriptor_, buffer.data() + filled, request);
    if (count == 0) break;
    if (count > 0) filled += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) fail(path_, "read", errno);
  }
  return filled;
}

void RegularFile::rewind() {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail(path_, "rewind", errno);
}

}  // namespace kolam::data

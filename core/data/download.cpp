#include <kolam/core/data/checksum.hpp>
#include <kolam/core/data/download.hpp>
#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace kolam::data {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& reason) {
  throw DataError(fmt::format(
      "cannot write {}: {}, expected a writable folder with room; free space or choose another "
      "folder",
      quote(path), reason));
}

/// A new file beside the destination that disappears again unless `publish` succeeds.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& destination)
      : destination_(destination), name_(destination.string() + ".XXXXXX") {
    descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail_to_write(destination_, system_message(errno));
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!published_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Returns 0 or the error number.
  int append(const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t written = ::write(descriptor_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      bytes += written;
      count -= static_cast<std::size_t>(written);
    }
    return 0;
  }

  void publish() {
    const bool on_disk = ::fchmod(descriptor_, 0644) == 0 && ::fsync(descriptor_) == 0;
    if (!on_disk) fail_to_write(destination_, system_message(errno));
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 || ::rename(name_.c_str(), destination_.c_str()) != 0)
      fail_to_write(destination_, system_message(errno));
    published_ = true;
    sync_folder();
  }

 private:
  /// Puts the new name on disk. Some file systems cannot sync a folder: the file is whole anyway.
  void sync_folder() const {
    const fs::path folder = destination_.has_parent_path() ? destination_.parent_path() : ".";
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
  }

  fs::path destination_;
  std::string name_;
  int descriptor_ = -1;
  bool published_ = false;
};

/// Where the bytes go, and why they stopped going there.
struct Sink {
  TemporaryFile* file;
  Digest* digest;
  std::int64_t room;
  bool too_large = false;
  int write_error = 0;
};

/// Called by C code, so nothing may be thrown; a return value other than `count` ends the transfer.
std::size_t receive(char* bytes, std::size_t, std::size_t count, void* user) noexcept {
  Sink& sink = *static_cast<Sink*>(user);
  sink.room -= static_cast<std::int64_t>(count);
  sink.too_large = sink.room < 0;
  if (sink.too_large) return 0;
  sink.write_error = sink.file->append(bytes, count);
  if (sink.write_error != 0) return 0;
  try {
    sink.digest->update(std::as_bytes(std::span(bytes, count)));
  } catch (...) {
    return 0;
  }
  return count;
}

struct CloseTransfer {
  void operator()(CURL* transfer) const { curl_easy_cleanup(transfer); }
};
using Transfer = std::unique_ptr<CURL, CloseTransfer>;

[[noreturn]] void fail_transfer(const std::string& address, std::string_view reason) {
  throw DataError(fmt::format(
      "cannot download '{}': {}, expected a complete file; check the address and the network, or "
      "bring the file by hand",
      one_line(address), one_line(reason)));
}

Transfer open_transfer(const std::string& address) {
  // libcurl's own state is global; it is set up once, by whichever thread comes first.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  Transfer transfer(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (!transfer) fail_transfer(address, "libcurl does not start");
  return transfer;
}

void allow_protocols(CURL* transfer) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(transfer, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(transfer, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(transfer, CURLOPT_PROTOCOLS,
                   long{CURLPROTO_HTTP} | CURLPROTO_HTTPS | CURLPROTO_FILE);
  curl_easy_setopt(transfer, CURLOPT_REDIR_PROTOCOLS, long{CURLPROTO_HTTP} | CURLPROTO_HTTPS);
#endif
}

void configure(CURL* transfer, const std::string& address, const DownloadOptions& options,
               Sink& sink) {
  allow_protocols(transfer);
  curl_easy_setopt(transfer, CURLOPT_URL, address.c_str());
  curl_easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);  // ranks are threads
  curl_easy_setopt(transfer, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(transfer, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(transfer, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(transfer, CURLOPT_CONNECTTIMEOUT, long{options.connect_timeout_seconds});
  curl_easy_setopt(transfer, CURLOPT_TIMEOUT, long{options.timeout_seconds});
  curl_easy_setopt(transfer, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(transfer, CURLOPT_LOW_SPEED_TIME, long{options.stall_timeout_seconds});
  curl_easy_setopt(transfer, CURLOPT_MAXFILESIZE_LARGE, curl_off_t{options.max_bytes});
  curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, &receive);
  curl_easy_setopt(transfer, CURLOPT_WRITEDATA, &sink);
}

void run_transfer(const std::string& address, const fs::path& destination,
                  const DownloadOptions& options, Sink& sink) {
  const Transfer transfer = open_transfer(address);
  std::array<char, CURL_ERROR_SIZE> reason{};
  curl_easy_setopt(transfer.get(), CURLOPT_ERRORBUFFER, reason.data());
  configure(transfer.get(), address, options, sink);
  const CURLcode code = curl_easy_perform(transfer.get());
  if (sink.write_error != 0) fail_to_write(destination, system_message(sink.write_error));
  if (sink.too_large || code == CURLE_FILESIZE_EXCEEDED)
    fail_transfer(address, fmt::format("it is larger than {} bytes", options.max_bytes));
  if (code != CURLE_OK)
    fail_transfer(address, reason[0] != '\0' ? reason.data() : curl_easy_strerror(code));
}

void make_folder_of(const fs::path& destination) {
  if (!destination.has_parent_path()) return;
  std::error_code error;
  fs::create_directories(destination.parent_path(), error);
  if (error) fail_to_write(destination, error.message());
}

}  // namespace

void download(const std::string& address, const fs::path& destination,
              const DownloadOptions& options) {
  make_folder_of(destination);
  TemporaryFile file(destination);
  Digest digest(DigestAlgorithm::md5);
  Sink sink{&file, &digest, options.max_bytes};
  run_transfer(address, destination, options, sink);
  if (const std::string found = digest.hex(); found != options.md5)
    throw DataError(fmt::format(
        "'{}' has MD5 {}, expected {}; nothing was kept, try again or bring the file by hand",
        one_line(address), found, options.md5));
  file.publish();
}

}  // namespace kolam::data

/// \file
/// Downloads one file so that it is either there complete and verified, or not there at all.
///
/// The bytes go to a new temporary name in the destination's folder. Only when their MD5 matches
/// and they are on disk is that file renamed to the destination; on any failure it is removed.
/// Several processes may download the same file at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kolam::data {

struct DownloadOptions {
  /// Expected MD5 in lower-case hexadecimal.
  std::string md5;
  /// The transfer is refused as soon as it is known to be larger.
  std::int64_t max_bytes = std::int64_t{64} << 20;
  int connect_timeout_seconds = 15;
  /// For the whole transfer.
  int timeout_seconds = 600;
  /// A transfer slower than 1 kB/s for this long is given up.
  int stall_timeout_seconds = 30;
};

/// Downloads `address` (http, https or file) to `destination`; missing folders are made.
/// \throws DataError, in one line, whatever goes wrong.
void download(const std::string& address, const std::filesystem::path& destination,
              const DownloadOptions& options);

}  // namespace kolam::data

/// \file
/// Reads a file that may or may not be gzip-compressed, decided by its first two bytes (0x1f 0x8b)
/// and never by its name.
///
/// The content of a gzip file is handed out only as far as the caller asks, so nothing in the file
/// can make the reader allocate: it holds one fixed buffer. The gzip format (RFC 1952) is checked
/// strictly: headers, CRC-32 and length of every member, a stream that ends early, and bytes after
/// the last member (zeros too) are all refused. Several members one after the other are accepted
/// and mean their concatenation, as the RFC says.
#pragma once

#include <kolam/core/data/regular_file.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace kolam::data {

/// The content of a raw or gzip-compressed file, read front to back.
class MaybeGzipFile {
 public:
  /// \throws DataError if the file cannot be opened or is not a regular file.
  explicit MaybeGzipFile(const std::filesystem::path& path);
  ~MaybeGzipFile();

  const std::filesystem::path& path() const { return file_.path(); }
  bool is_gzip() const { return inflater_ != nullptr; }
  /// Bytes of the file as stored.
  std::int64_t stored_bytes() const { return file_.bytes(); }
  /// An upper bound of the content's bytes, from the stored size alone: that size for a raw file,
  /// 1032 times it (the most that deflate can do) for gzip.
  std::int64_t largest_content() const;

  /// Fills `buffer` and returns the number of bytes read; fewer only at the end of the content,
  /// which for gzip has been verified then.
  /// \throws DataError if the gzip stream is damaged, ends early or is followed by other bytes.
  std::size_t read(std::span<std::uint8_t> buffer);
  /// Reads past at most `limit` bytes without keeping them and returns how many there were.
  std::int64_t skip(std::int64_t limit);
  /// The next read starts at the first byte of the content again.
  void rewind();

 private:
  struct Inflater;
  struct StoredChunk;

  bool refill();
  std::size_t read_stored(std::span<std::uint8_t> buffer);
  std::size_t read_inflated(std::span<std::uint8_t> buffer);
  void start_next_member();
  void check_progress(int code, bool moved);

  RegularFile file_;
  std::unique_ptr<StoredChunk> chunk_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace kolam::data

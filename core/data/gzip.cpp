#include <kolam/core/data/gzip.hpp>
#include <kolam/core/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace kolam::data {

namespace {

constexpr std::uint8_t gzip_first_byte = 0x1f;
constexpr std::uint8_t gzip_second_byte = 0x8b;
constexpr std::int64_t largest_deflate_ratio = 1032;

}  // namespace

struct MaybeGzipFile::StoredChunk {
  std::array<std::uint8_t, 65536> bytes;
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

struct MaybeGzipFile::Inflater {
  z_stream stream{};
  bool between_members = false;
  std::int64_t members_done = 0;

  Inflater() {
    constexpr int gzip_only = 15 + 16;
    if (inflateInit2(&stream, gzip_only) != Z_OK)
      throw OutOfMemory("no memory for zlib's inflate state (about 50 kB); free some memory");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void restart() {
    inflateReset(&stream);
    between_members = false;
    members_done = 0;
  }
};

MaybeGzipFile::MaybeGzipFile(const std::filesystem::path& path)
    : file_(path), chunk_(std::make_unique<StoredChunk>()) {
  refill();
  const bool looks_compressed = chunk_->size() >= 2 && chunk_->bytes[0] == gzip_first_byte &&
                                chunk_->bytes[1] == gzip_second_byte;
  if (looks_compressed) inflater_ = std::make_unique<Inflater>();
}

MaybeGzipFile::~MaybeGzipFile() = default;

std::int64_t MaybeGzipFile::largest_content() const {
  if (!is_gzip()) return stored_bytes();
  if (stored_bytes() > std::numeric_limits<std::int64_t>::max() / largest_deflate_ratio)
    return std::numeric_limits<std::int64_t>::max();
  return stored_bytes() * largest_deflate_ratio;
}

bool MaybeGzipFile::refill() {
  if (chunk_->size() > 0) return true;
  chunk_->begin = 0;
  chunk_->end = file_.read(chunk_->bytes);
  return chunk_->end > 0;
}

std::size_t MaybeGzipFile::read(std::span<std::uint8_t> buffer) {
  return is_gzip() ? read_inflated(buffer) : read_stored(buffer);
}

std::size_t MaybeGzipFile::read_stored(std::span<std::uint8_t> buffer) {
  const std::size_t buffered = std::min(buffer.size(), chunk_->size());
  std::copy_n(chunk_->bytes.begin() + static_cast<std::ptrdiff_t>(chunk_->begin), buffered,
              buffer.begin());
  chunk_->begin += buffered;
  return buffered + file_.read(buffer.subspan(buffered));
}

std::size_t MaybeGzipFile::read_inflated(std::span<std::uint8_t> buffer) {
  constexpr std::size_t largest_request = std::size_t{1} << 30;  // zlib counts in 32 bits
  z_stream& stream = inflater_->stream;
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const bool has_input = refill();
    if (inflater_->between_members) {
      if (!has_input) break;
      start_next_member();
    }
    const std::size_t request = std::min(buffer.size() - filled, largest_request);
    stream.next_in = chunk_->bytes.data() + chunk_->begin;
    stream.avail_in = static_cast<uInt>(chunk_->size());
    stream.next_out = buffer.data() + filled;
    stream.avail_out = static_cast<uInt>(request);
    const int code = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = chunk_->size() - stream.avail_in;
    const std::size_t made = request - stream.avail_out;
    chunk_->begin += taken;
    filled += made;
    check_progress(code, taken + made > 0);
  }
  return filled;
}

void MaybeGzipFile::start_next_member() {
  if (chunk_->bytes[chunk_->begin] != gzip_first_byte)
    throw DataError(fmt::format(
        "{} has other bytes after its gzip data, expected the end of the file; copy or download "
        "the file again",
        quote(path())));
  inflateReset(&inflater_->stream);
  inflater_->between_members = false;
}

void MaybeGzipFile::check_progress(int code, bool moved) {
  if (code == Z_STREAM_END) {
    inflater_->between_members = true;
    ++inflater_->members_done;
    return;
  }
  if (code == Z_MEM_ERROR)
    throw OutOfMemory(fmt::format("no memory to inflate {}; free some memory", quote(path())));
  if (code != Z_OK && code != Z_BUF_ERROR) {
    const char* reason = inflater_->stream.msg;
    throw DataError(fmt::format(
        "{} is damaged: gzip member {} has an {}, expected a valid gzip stream; copy or download "
        "the file again",
        quote(path()), inflater_->members_done + 1, reason ? reason : "invalid structure"));
  }
  if (!moved)
    throw DataError(fmt::format(
        "{} is cut short: its gzip stream does not end within the file's {} bytes, expected a "
        "complete stream; copy or download the file again",
        quote(path()), stored_bytes()));
}

std::int64_t MaybeGzipFile::skip(std::int64_t limit) {
  std::array<std::uint8_t, 16384> scratch;
  std::int64_t skipped = 0;
  while (skipped < limit) {
    const auto request = static_cast<std::size_t>(
        std::min<std::int64_t>(limit - skipped, static_cast<std::int64_t>(scratch.size())));
    const std::size_t count = read(std::span(scratch).first(request));
    skipped += static_cast<std::int64_t>(count);
    if (count < request) break;
  }
  return skipped;
}

void MaybeGzipFile::rewind() {
  file_.rewind();
  chunk_->begin = chunk_->end = 0;
  if (inflater_) inflater_->restart();
}

}  // namespace kolam::data

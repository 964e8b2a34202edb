#include <kolam/core/data/gzip.hpp>
#include <kolam/core/data/idx.hpp>
#include <kolam/core/error.hpp>

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

namespace kolam::data {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// Memory taken on the word of a header alone. Larger claims of a gzip file are verified first.
constexpr std::int64_t largest_unverified_claim = 48 * mebibyte;

const char* name_of(IdxKind kind) {
  return kind == IdxKind::images ? "images" : "labels";
}

int dimensions_of(IdxKind kind) {
  return kind == IdxKind::images ? 3 : 1;
}

IdxKind other(IdxKind kind) {
  return kind == IdxKind::images ? IdxKind::labels : IdxKind::images;
}

std::string describe_element_type(std::uint32_t type) {
  switch (type) {
    case 0x09:
      return "0x09 (signed byte)";
    case 0x0B:
      return "0x0B (16-bit integer)";
    case 0x0C:
      return "0x0C (32-bit integer)";
    case 0x0D:
      return "0x0D (float)";
    case 0x0E:
      return "0x0E (double)";
    default:
      return fmt::format("0x{:02X} (unknown)", type);
  }
}

void check_magic(const std::filesystem::path& path, std::uint32_t magic, IdxKind kind) {
  const auto expected = static_cast<std::uint32_t>(kind);
  if (magic == expected) return;
  if (magic == static_cast<std::uint32_t>(other(kind)))
    throw DataError(fmt::format(
        "{} has magic number {} ({}), expected {} ({}): these two look swapped, exchange the "
        "images and the labels file",
        quote(path), magic, name_of(other(kind)), expected, name_of(kind)));
  if (magic >> 16 != 0)
    throw DataError(fmt::format(
        "{} starts with 0x{:08X}, expected 0x{:08X} (an IDX file of {}); give an IDX file, raw or "
        "gzip-compressed",
        quote(path), magic, expected, name_of(kind)));
  if (const std::uint32_t type = magic >> 8 & 0xff; type != 0x08)
    throw DataError(fmt::format(
        "{} has element type {}, expected 0x08 (unsigned byte); convert its elements to bytes",
        quote(path), describe_element_type(type)));
  throw DataError(
      fmt::format("{} has dimension count {}, expected {} for {}; give an IDX file of {}",
                  quote(path), magic & 0xff, dimensions_of(kind), name_of(kind), name_of(kind)));
}

std::uint32_t read_big_endian(MaybeGzipFile& file) {
  std::array<std::uint8_t, 4> bytes{};
  if (file.read(bytes) < bytes.size())
    throw DataError(fmt::format(
        "{} ends within its IDX header ({} bytes stored), expected a complete header; copy or "
        "download the file again",
        quote(file.path()), file.stored_bytes()));
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string claim(const Extents& extents) {
  std::string product = fmt::format("{}", extents[0]);
  for (int i = 1; i < extents.dimensions(); ++i) product += fmt::format(" x {}", extents[i]);
  return product;
}

Extents read_header(MaybeGzipFile& file, IdxKind kind) {
  if (file.stored_bytes() == 0)
    throw DataError(
        fmt::format("{} is an empty file, expected an IDX file of {}; copy or download "
                    "the file again",
                    quote(file.path()), name_of(kind)));
  check_magic(file.path(), read_big_endian(file), kind);
  Extents extents;
  for (int i = 0; i < dimensions_of(kind); ++i) extents.append(read_big_endian(file));
  if (extents[0] == 0)
    throw DataError(fmt::format(
        "{} is an empty data set: its header claims 0 {}, expected at least 1; give a file with "
        "examples",
        quote(file.path()), name_of(kind)));
  for (int i = 1; i < extents.dimensions(); ++i)
    if (extents[i] == 0)
      throw DataError(fmt::format(
          "{} claims {} images without pixels, expected at least 1 row and 1 column; give a file "
          "of real images",
          quote(file.path()), claim(extents)));
  return extents;
}

std::optional<std::int64_t> product(const Extents& extents) {
  std::int64_t total = 1;
  for (int i = 0; i < extents.dimensions(); ++i)
    if (__builtin_mul_overflow(total, extents[i], &total)) return std::nullopt;
  return total;
}

[[noreturn]] void fail_size(const std::filesystem::path& path, const Extents& extents,
                            std::int64_t claimed, std::string_view found) {
  throw DataError(fmt::format(
      "{} claims {} = {} bytes after its header, found {}; copy or download the file again",
      quote(path), claim(extents), claimed, found));
}

/// Refuses a claim that the file cannot hold, going by its stored size alone.
std::int64_t possible_claim(const MaybeGzipFile& file, const Extents& extents) {
  const std::int64_t header = 4 + 4 * extents.dimensions();
  const std::int64_t room = file.largest_content() - header;
  const std::optional<std::int64_t> claimed = product(extents);
  if (!claimed)
    throw DataError(fmt::format(
        "{} claims {} bytes, more than 2^63, found a file of {} bytes; copy or download the file "
        "again",
        quote(file.path()), claim(extents), file.stored_bytes()));
  if (!file.is_gzip() && *claimed != room)
    fail_size(file.path(), extents, *claimed, fmt::format("{}", room));
  if (*claimed > room)
    fail_size(file.path(), extents, *claimed,
              fmt::format("{} gzip-compressed bytes, which hold {} at most", file.stored_bytes(),
                          file.largest_content()));
  return *claimed;
}

/// Refuses unless `found` bytes, with what is still unread, are what the header claims.
void check_end(MaybeGzipFile& file, const Extents& extents, std::int64_t claimed,
               std::int64_t found) {
  constexpr std::int64_t patience = mebibyte;  // for counting bytes that should not be there
  const std::int64_t excess = found < claimed ? 0 : file.skip(patience);
  if (found == claimed && excess == 0) return;
  fail_size(file.path(), extents, claimed,
            fmt::format("{}{}", excess == patience ? "at least " : "", found + excess));
}

}  // namespace

IdxFile read_idx(const std::filesystem::path& path, IdxKind kind) {
  MaybeGzipFile file(path);
  IdxFile idx;
  idx.extents = read_header(file, kind);
  const std::int64_t claimed = possible_claim(file, idx.extents);
  if (file.is_gzip() && claimed > largest_unverified_claim) {
    check_end(file, idx.extents, claimed, file.skip(claimed));
    file.rewind();
    read_header(file, kind);
  }
  idx.bytes.resize(static_cast<std::size_t>(claimed));
  const std::size_t found = file.read(idx.bytes);
  check_end(file, idx.extents, claimed, static_cast<std::int64_t>(found));
  return idx;
}

}  // namespace kolam::data

/// \file
/// Reader of IDX files, the format of MNIST and Fashion-MNIST: big-endian
/// `0x00 0x00 | element type | dimension count | extents (32 bits each) | elements`.
///
/// Images are `0x00000803 | n | rows | columns | bytes`, labels `0x00000801 | n | bytes`. Files may
/// be gzip-compressed (see gzip.hpp). A file is accepted only if it holds exactly what its header
/// claims, and a claim is checked before memory is taken for it: a refusal never takes more than
/// 64 MiB beyond the file's own size.
#pragma once

#include <kolam/core/array/extents.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace kolam::data {

/// What an IDX file is expected to hold; the values are the files' magic numbers.
enum class IdxKind : std::uint32_t { images = 0x00000803, labels = 0x00000801 };

/// The content of an IDX file of bytes: `[n, rows, columns]` images or `[n]` labels, row-major.
struct IdxFile {
  Extents extents;
  std::vector<std::uint8_t> bytes;
};

/// \throws DataError if the file is missing, damaged, of another kind, empty (n, rows or columns
///   is 0) or holds more or fewer bytes than its header claims.
IdxFile read_idx(const std::filesystem::path& path, IdxKind kind);

}  // namespace kolam::data

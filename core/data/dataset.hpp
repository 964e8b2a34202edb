/// \file
/// Labelled 8-bit images in host memory, as they come from files.
///
/// A Dataset never changes after it was made, so any number of threads may read it.
#pragma once

#include <kolam/core/array/extents.hpp>
#include <kolam/core/data/idx.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace kolam::data {

/// `count()` images of `rows()` x `columns()` bytes, each with a label.
class Dataset {
 public:
  /// \param images `[n, rows, columns]`. \param labels `[n]`.
  /// \param source where they come from, for messages and reports.
  /// \param least_class_count classes that exist even if no label here shows them.
  /// \throws DataError if there are no examples, the extents are of the wrong kind, the counts
  ///   differ, or an extent does not match its number of bytes.
  Dataset(IdxFile images, IdxFile labels, std::filesystem::path source,
          std::int64_t least_class_count = 0);

  /// Number of examples, n.
  std::int64_t count() const { return images_.extents[0]; }
  std::int64_t rows() const { return images_.extents[1]; }
  std::int64_t columns() const { return images_.extents[2]; }
  /// Inputs per example: rows x columns.
  std::int64_t features() const { return rows() * columns(); }
  /// `[n, rows, columns]`.
  const Extents& image_extents() const { return images_.extents; }
  /// Largest label + 1, or the known number of classes if that is larger.
  std::int64_t class_count() const { return class_count_; }
  const std::filesystem::path& source() const { return source_; }

  /// The pixels of one example, row-major.
  std::span<const std::uint8_t> image(std::int64_t example) const;
  /// The labels of all examples, `[n]`.
  std::span<const std::uint8_t> labels() const { return labels_.bytes; }

 private:
  IdxFile images_;
  IdxFile labels_;
  std::filesystem::path source_;
  std::int64_t class_count_ = 0;
};

/// Reads one file of images and one of labels.
/// \throws DataError as `read_idx` and Dataset do; both files are named if their counts differ.
Dataset load_idx_pair(const std::filesystem::path& images, const std::filesystem::path& labels,
                      std::int64_t least_class_count = 0);

/// Checks that a model with `classes` outputs can learn these labels. More outputs than the data
/// has classes are fine.
/// \throws DataError naming the first example whose label is not below `classes`.
void check_labels(const Dataset& dataset, std::int64_t classes);

}  // namespace kolam::data

#include <kolam/core/data/dataset.hpp>
#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kolam::data {

namespace {

void check_file(const IdxFile& file, int dimensions, const char* name,
                const std::filesystem::path& source) {
  const bool fits = file.extents.dimensions() == dimensions &&
                    file.extents.count() == static_cast<std::int64_t>(file.bytes.size());
  if (!fits)
    throw DataError(fmt::format(
        "data set {} has {} of extents {} in {} bytes, expected {} dimensions and one byte per "
        "element; correct the extents",
        quote(source), name, to_string(file.extents), file.bytes.size(), dimensions));
  if (file.bytes.empty())
    throw DataError(
        fmt::format("{} is an empty data set: no {}, expected at least 1 example; give "
                    "one with examples",
                    quote(source), name));
}

}  // namespace

Dataset::Dataset(IdxFile images, IdxFile labels, std::filesystem::path source,
                 std::int64_t least_class_count)
    : images_(std::move(images)), labels_(std::move(labels)), source_(std::move(source)) {
  check_file(images_, 3, "images", source_);
  check_file(labels_, 1, "labels", source_);
  if (images_.extents[0] != labels_.extents[0])
    throw DataError(fmt::format(
        "data set {} has {} images but {} labels, expected one label per image; give files of the "
        "same split",
        quote(source_), images_.extents[0], labels_.extents[0]));
  const std::int64_t largest = *std::max_element(labels_.bytes.begin(), labels_.bytes.end());
  class_count_ = std::max(largest + 1, least_class_count);
}

std::span<const std::uint8_t> Dataset::image(std::int64_t example) const {
  return std::span(images_.bytes)
      .subspan(static_cast<std::size_t>(example * features()),
               static_cast<std::size_t>(features()));
}

Dataset load_idx_pair(const std::filesystem::path& images, const std::filesystem::path& labels,
                      std::int64_t least_class_count) {
  IdxFile image_file = read_idx(images, IdxKind::images);
  IdxFile label_file = read_idx(labels, IdxKind::labels);
  if (image_file.extents[0] != label_file.extents[0])
    throw DataError(fmt::format(
        "{} has {} images but {} has {} labels, expected one label per image; give files of the "
        "same split",
        quote(images), image_file.extents[0], quote(labels), label_file.extents[0]));
  return Dataset(std::move(image_file), std::move(label_file), images.parent_path(),
                 least_class_count);
}

void check_labels(const Dataset& dataset, std::int64_t classes) {
  const std::span<const std::uint8_t> labels = dataset.labels();
  const auto bad = std::find_if(labels.begin(), labels.end(),
                                [classes](std::uint8_t label) { return label >= classes; });
  if (bad == labels.end()) return;
  throw DataError(fmt::format(
      "example {} of {} has label {}, expected labels below {}, the model's number of classes; "
      "raise the number of classes to {} or correct the labels",
      bad - labels.begin(), quote(dataset.source()), *bad, classes, dataset.class_count()));
}

}  // namespace kolam::data

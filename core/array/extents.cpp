#include <kolam/core/array/extents.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>

namespace kolam {

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw ShapeError(fmt::format(
        "a size of {} x {} does not fit a signed 64-bit integer; use smaller extents", a, b));
  }
  return product;
}

Extents::Extents(std::initializer_list<std::int64_t> values) {
  for (const std::int64_t extent : values) append(extent);
}

void Extents::append(std::int64_t extent) {
  if (dimensions_ == max_dimensions) {
    throw ShapeError("an array has at most four dimensions, found a fifth");
  }
  if (extent < 0) {
    throw ShapeError(fmt::format("an extent must not be negative, found {}", extent));
  }
  values_[static_cast<std::size_t>(dimensions_++)] = extent;
}

std::int64_t Extents::count() const {
  std::int64_t product = 1;
  for (int i = 0; i < dimensions_; ++i) product = checked_product(product, (*this)[i]);
  return product;
}

std::int64_t Extents::bytes(std::int64_t element_size) const {
  return checked_product(count(), element_size);
}

std::string to_string(const Extents& extents) {
  std::string text = "[";
  for (int i = 0; i < extents.dimensions(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", extents[i]);
  }
  return text + "]";
}

}  // namespace kolam

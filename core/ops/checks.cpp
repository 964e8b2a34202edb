#include <kolam/core/ops/checks.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>

namespace kolam::ops::detail {

void check_mix(const char* operation, double mix) {
  if (mix >= 0.0 && mix <= 1.0) return;
  throw ConfigurationError(fmt::format("{}: mix is {}; expected 0 to 1", operation, mix));
}

void check_repeats(std::int64_t repeats) {
  if (repeats >= 0) return;
  throw ConfigurationError(fmt::format("scan: {} repeats; expected 0 or more", repeats));
}

void check_keep_every(std::int64_t keep_every) {
  if (keep_every >= 1) return;
  throw ConfigurationError(
      fmt::format("scan: keep_every is {}; expected 1 (keep all) or more", keep_every));
}

void refuse_label(std::int64_t index, std::int64_t label, std::int64_t classes) {
  throw DataError(fmt::format(
      "softmax_cross_entropy: label {} of this rank is {}, but the logits have {} classes (0 to "
      "{}); use a model with more outputs or mend the labels",
      index, label, classes, classes - 1));
}

}  // namespace kolam::ops::detail

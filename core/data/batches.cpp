#include <kolam/core/data/batches.hpp>
#include <kolam/core/data/pixels.hpp>
#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>
#include <kolam/core/random/philox.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace kolam::data {

namespace {

/// Sets the counters of shuffles apart from those of other uses of a seed, whose second word is the
/// upper half of an element's index.
constexpr std::uint32_t shuffle_domain = 0x73687566;

/// A uniform integer in [0, bound), unbiased: Lemire's multiply-and-reject on the words of Philox
/// blocks (i, domain + attempt, epoch).
std::uint32_t bounded(std::uint32_t bound, std::uint32_t i, std::uint64_t epoch,
                      random::PhiloxKey key) {
  const std::uint32_t smallest_accepted = (0U - bound) % bound;
  for (std::uint32_t attempt = 0;; ++attempt) {
    const random::PhiloxBlock block = random::philox4x32(
        random::PhiloxBlock{{i, shuffle_domain + attempt, static_cast<std::uint32_t>(epoch),
                             static_cast<std::uint32_t>(epoch >> 32)}},
        key);
    for (const std::uint32_t word : block.words) {
      const std::uint64_t scaled = std::uint64_t{word} * bound;
      if (static_cast<std::uint32_t>(scaled) >= smallest_accepted)
        return static_cast<std::uint32_t>(scaled >> 32);
    }
  }
}

void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint64_t epoch) {
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  const random::PhiloxKey key = random::philox_key(seed);
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto bound = static_cast<std::uint32_t>(i);
    std::swap(order[i - 1], order[bounded(bound, bound - 1, epoch, key)]);
  }
}

std::size_t checked_count(std::int64_t n) {
  constexpr std::int64_t largest = std::numeric_limits<std::uint32_t>::max();
  if (n < 0 || n > largest)
    throw DataError(fmt::format(
        "an order of {} examples was asked for, expected 0 to {}; use a part of the data set", n,
        largest));
  return static_cast<std::size_t>(n);
}

void require_positive(const char* name, std::int64_t value) {
  if (value < 1)
    throw ConfigurationError(
        fmt::format("{} is {}, expected at least 1; give a positive number", name, value));
}

/// Writes the examples one after the other to the front of `images` and `labels`.
template <class T>
void copy_examples(const Dataset& dataset, std::span<const std::uint32_t> examples,
                   std::span<T> images, std::span<std::int32_t> labels) {
  T* pixels = images.data();
  auto label_out = labels.begin();
  for (const std::uint32_t example : examples) {
    convert_pixels(dataset.image(example), pixels);
    pixels += dataset.features();
    *label_out++ = dataset.labels()[example];
  }
}

}  // namespace

std::vector<std::uint32_t> shuffled_order(std::int64_t n, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::uint32_t> order(checked_count(n));
  shuffle(order, seed, epoch);
  return order;
}

template <class T>
StackedBatches<T>::StackedBatches(std::int64_t batches, std::int64_t batch, std::int64_t features)
    : batches_(batches),
      batch_(batch),
      features_(features),
      image_values_(static_cast<std::size_t>(Extents{batches, batch, features}.count())),
      label_values_(static_cast<std::size_t>(batches * batch)) {}

template <class T>
StackedBatches<T> stack_batches(const Dataset& dataset, const StackOptions& options) {
  require_positive("the number of batches", options.batches);
  require_positive("the batch", options.batch);
  // Divided, not multiplied: the product may not fit.
  if (options.batches > dataset.count() / options.batch)
    throw DataError(fmt::format(
        "{} batches of {} examples were asked for, but data set {} holds {} examples; lower the "
        "number of batches or the batch",
        options.batches, options.batch, quote(dataset.source()), dataset.count()));
  StackedBatches<T> stacked(options.batches, options.batch, dataset.features());
  const std::vector<std::uint32_t> order =
      shuffled_order(dataset.count(), options.seed, options.epoch);
  const auto wanted = static_cast<std::size_t>(options.batches * options.batch);
  copy_examples(dataset, std::span(order).first(wanted), stacked.image_values(),
                stacked.label_values());
  return stacked;
}

template <class T>
EpochBatches<T>::EpochBatches(const Dataset& dataset, const EpochOptions& options)
    : dataset_(&dataset),
      options_(options),
      order_(checked_count(dataset.count())),
      buffer_(1, std::clamp<std::int64_t>(options.global_batch, 0, dataset.count()),
              dataset.features()) {
  require_positive("the global batch", options.global_batch);
  start(options.epoch);
}

template <class T>
void EpochBatches<T>::start(std::uint64_t epoch) {
  options_.epoch = epoch;
  begin_ = end_ = 0;
  if (options_.order == Order::shuffled)
    shuffle(order_, options_.seed, epoch);
  else
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
}

template <class T>
bool EpochBatches<T>::next() {
  begin_ = end_;
  end_ += std::min(buffer_.batch(), dataset_->count() - begin_);
  copy_examples(*dataset_, examples(), buffer_.image_values(), buffer_.label_values());
  return begin_ < end_;
}

template <class T>
std::int64_t EpochBatches<T>::batch_count() const {
  return (dataset_->count() - 1) / buffer_.batch() + 1;
}

template <class T>
std::span<const std::uint32_t> EpochBatches<T>::examples() const {
  return std::span(order_).subspan(static_cast<std::size_t>(begin_),
                                   static_cast<std::size_t>(end_ - begin_));
}

template <class T>
HostTensor<T> EpochBatches<T>::images() const {
  return {buffer_.images(0).data, {end_ - begin_, dataset_->features()}};
}

template <class T>
HostTensor<std::int32_t> EpochBatches<T>::labels() const {
  return {buffer_.labels(0).data, {end_ - begin_}};
}

template class StackedBatches<float>;
template class StackedBatches<double>;
template class EpochBatches<float>;
template class EpochBatches<double>;
template StackedBatches<float> stack_batches<float>(const Dataset&, const StackOptions&);
template StackedBatches<double> stack_batches<double>(const Dataset&, const StackOptions&);

}  // namespace kolam::data

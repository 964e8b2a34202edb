/// \file
/// Shuffled orders, and batches of host floats made from a Dataset.
///
/// Pixels become T(pixel) / T(255), labels 32-bit integers. An order is a function of the seed and
/// the epoch alone, never of the number of devices: a batch here is the global batch, and a
/// device's share of it is a contiguous part. Defined for T = float and double.
#pragma once

#include <kolam/core/array/host_tensor.hpp>
#include <kolam/core/data/dataset.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace kolam::data {

/// A uniformly random permutation of 0..n-1: Fisher-Yates on Philox4x32-10 (key: seed, counter:
/// position and epoch) with unbiased bounded integers (Lemire 2019, doi:10.1145/3230636).
/// \throws DataError unless 0 <= n < 2^32.
std::vector<std::uint32_t> shuffled_order(std::int64_t n, std::uint64_t seed, std::uint64_t epoch);

struct StackOptions {
  std::int64_t batches = 1;
  std::int64_t batch = 1;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// `batches` full batches in one block of host memory: images `[batches, batch, features]` and
/// labels `[batches, batch]`. The tensors handed out live as long as this object.
template <class T>
class StackedBatches {
 public:
  StackedBatches(std::int64_t batches, std::int64_t batch, std::int64_t features);

  std::int64_t batches() const { return batches_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t features() const { return features_; }
  /// `[batch, features]`.
  HostTensor<T> images(std::int64_t i) const {
    return {image_values_.data() + i * batch_ * features_, {batch_, features_}};
  }
  /// `[batch]`.
  HostTensor<std::int32_t> labels(std::int64_t i) const {
    return {label_values_.data() + i * batch_, {batch_}};
  }
  std::span<T> image_values() { return image_values_; }
  std::span<std::int32_t> label_values() { return label_values_; }

 private:
  std::int64_t batches_;
  std::int64_t batch_;
  std::int64_t features_;
  std::vector<T> image_values_;
  std::vector<std::int32_t> label_values_;
};

/// The first `batches` x `batch` examples of the shuffled order.
/// \throws ConfigurationError for a number of batches or a batch below 1, DataError if that is more
///   examples than there are.
template <class T>
StackedBatches<T> stack_batches(const Dataset& dataset, const StackOptions& options);

enum class Order : std::uint8_t { shuffled, as_stored };

struct EpochOptions {
  std::int64_t global_batch = 1;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  Order order = Order::shuffled;
};

/// All examples of an epoch, each exactly once, in batches of `global_batch`; the last one is
/// smaller where that does not divide the number of examples.
///
///     EpochBatches<float> epoch(dataset, {.global_batch = 2048});
///     while (epoch.next()) step(epoch.images(), epoch.labels());
///
/// One buffer is reused: a batch's tensors are valid until the next call of `next` or `start`, and
/// neither allocates. The data set must live longer than this object.
template <class T>
class EpochBatches {
 public:
  /// \throws ConfigurationError for a global batch below 1.
  EpochBatches(const Dataset& dataset, const EpochOptions& options);
  EpochBatches(Dataset&&, const EpochOptions&) = delete;

  /// Starts another epoch from its first batch, with the order of that epoch.
  void start(std::uint64_t epoch);
  /// Moves to the next batch; false when the epoch is over.
  bool next();

  /// Batches per epoch.
  std::int64_t batch_count() const;
  /// Indices in the data set of this batch's examples.
  std::span<const std::uint32_t> examples() const;
  /// `[size, features]`, size being `global_batch` or, in the last batch, what is left.
  HostTensor<T> images() const;
  /// `[size]`.
  HostTensor<std::int32_t> labels() const;

 private:
  const Dataset* dataset_;
  EpochOptions options_;
  std::vector<std::uint32_t> order_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  StackedBatches<T> buffer_;
};

extern template class StackedBatches<float>;
extern template class StackedBatches<double>;
extern template class EpochBatches<float>;
extern template class EpochBatches<double>;

}  // namespace kolam::data

/// \file
/// One rank's share of every batch of an epoch, prepared ahead by a thread of its own.
///
/// A global batch is `global_batch` examples in the order of `EpochBatches`, fewer in the last one;
/// a rank's share is a slice of its rows. Only the share is converted, and it is handed out where
/// it was written: nothing is copied.
///
///     BatchLoader<float> loader(dataset, {.global_batch = 128, .share = rows_of_this_rank});
///     loader.start(0);
///     while (loader.next()) step(loader.images(), loader.labels(), loader.global_rows());
///
/// The share that `next` made current stays valid until `next` or `start` is called again.
#pragma once

#include <kolam/core/array/host_tensor.hpp>
#include <kolam/core/array/sharding.hpp>
#include <kolam/core/data/batches.hpp>
#include <kolam/core/data/dataset.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace kolam::data {

struct LoaderOptions {
  std::int64_t global_batch = 1;
  std::uint64_t seed = 0;
  Order order = Order::shuffled;
  /// This rank's slice of a batch of so many rows; never larger for fewer rows. None: all rows.
  std::function<Slice(std::int64_t rows)> share = {};
  /// Batches that a thread prepares ahead; 0 prepares each in `next`, which is right where there is
  /// no core to spare.
  std::int64_t ahead = 0;
};

template <class T>
class BatchLoader {
 public:
  /// \throws ConfigurationError for a global batch below 1 or a negative number of batches ahead.
  BatchLoader(const Dataset& dataset, const LoaderOptions& options);
  BatchLoader(Dataset&&, const LoaderOptions&) = delete;
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// Starts an epoch from its first batch, with the order of that epoch.
  void start(std::uint64_t epoch);
  /// Moves to the next batch, after waiting for it if need be; false when the epoch is over.
  /// Without `start` before, epoch 0 is started.
  bool next();

  /// Batches per epoch.
  std::int64_t batch_count() const;
  /// Rows of the current batch over all ranks.
  std::int64_t global_rows() const;
  /// `[rows, features]` of this share.
  HostTensor<T> images() const;
  /// `[rows]` of this share.
  HostTensor<std::int32_t> labels() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

extern template class BatchLoader<float>;
extern template class BatchLoader<double>;

}  // namespace kolam::data

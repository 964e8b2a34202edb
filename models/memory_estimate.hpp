/// \file
/// What a training run needs per device, before it starts: products of sizes, no memory.
///
/// Activations are what the tape holds when the backward pass begins, and the few arrays of that
/// pass. Rows are those of the largest slice of a batch.
#pragma once

#include <kolam/models/mlp.hpp>
#include <kolam/models/shared_block_mlp.hpp>

#include <algorithm>
#include <cstdint>

namespace kolam::models {

/// Bytes per device.
struct MemoryEstimate {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  std::int64_t batch = 0;

  std::int64_t total() const { return parameters + gradients + optimizer + activations + batch; }
};

struct TrainingSizes {
  /// Rows of a batch on the device that has most of them.
  std::int64_t rows = 0;
  /// Bytes of a float: 4 or 8.
  std::int64_t element_bytes = 4;
  /// Buffers of the parameters' size that the optimizer keeps: 2 for Adam, 1 for SGD.
  std::int64_t optimizer_buffers = 2;
  /// Buffers of gradients at once: 1, or 2 on the explicit path, whose pmean makes a new one.
  std::int64_t gradient_buffers = 1;
  /// Batches on the device at the same time; 0 where they lie in host memory that it reads.
  std::int64_t batches = 1;
};

namespace detail {

/// The first layer keeps its sum and its GELU, each repeat its sum and its result. The backward
/// pass of the last repeat no longer has that repeat's result, and has three arrays of its size;
/// without repeats there is one gradient. With `keep_every` above 1 each group of repeats keeps the
/// state before it, and one group at a time keeps what all repeats keep otherwise.
inline std::int64_t arrays_kept(std::int64_t repeats, std::int64_t keep_every) {
  if (repeats == 0) return 3;
  if (keep_every == 1) return 2 * repeats + 4;
  const std::int64_t groups = (repeats + keep_every - 1) / keep_every;
  const std::int64_t in_last = repeats - (groups - 1) * keep_every;
  const std::int64_t last = 4 + (groups - 1) + 2 * in_last;
  return groups == 1 ? last : std::max(last, 4 + (groups - 2) + 2 * keep_every);
}

/// \param activation_elements elements kept for one row.
inline MemoryEstimate estimate(std::int64_t parameters, std::int64_t inputs,
                               std::int64_t activation_elements, const TrainingSizes& sizes) {
  const auto product = [](std::int64_t a, std::int64_t b) { return checked_product(a, b); };
  const std::int64_t bytes = sizes.element_bytes;
  MemoryEstimate estimate;
  estimate.parameters = product(parameters, bytes);
  estimate.gradients = product(estimate.parameters, sizes.gradient_buffers);
  estimate.optimizer = product(estimate.parameters, sizes.optimizer_buffers);
  estimate.activations = product(product(sizes.rows, activation_elements), bytes);
  estimate.batch =
      product(product(sizes.rows, product(inputs, bytes) + std::int64_t{4}), sizes.batches);
  return estimate;
}

}  // namespace detail

inline MemoryEstimate estimate_memory(const SharedBlockMlpOptions& options,
                                      const TrainingSizes& sizes) {
  const std::int64_t wide = detail::arrays_kept(options.repeats, options.keep_every);
  return detail::estimate(SharedBlockMlp<DataParallel>::parameter_count(options), options.inputs,
                          checked_product(wide, options.width) + options.classes, sizes);
}

/// Each hidden layer keeps its sum and its activation until the backward pass has come to it. That
/// pass is largest in the product behind some layer: there are the layer's two arrays, its gradient
/// and that of the next layer.
inline MemoryEstimate estimate_memory(const MlpOptions& options, const TrainingSizes& sizes) {
  std::int64_t before = 0;
  std::int64_t most = 2 * options.classes;
  for (std::size_t i = 0; i < options.hidden.size(); ++i) {
    const std::int64_t units = options.hidden[i];
    const bool is_last = i + 1 == options.hidden.size();
    const std::int64_t next = is_last ? options.classes : options.hidden[i + 1];
    most = std::max(most, before + 3 * units + next);
    before += 2 * units;
  }
  return detail::estimate(Mlp<DataParallel>::parameter_count(options), options.inputs, most, sizes);
}

}  // namespace kolam::models

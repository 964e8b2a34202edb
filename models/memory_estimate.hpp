/// \file
/// What a training run needs per device, before it starts: products of sizes, no memory.
///
/// Activations are what the tape holds when the backward pass begins, and the few arrays of that
/// pass. Rows are those of the largest slice of a batch.
#pragma once

#include <kolam/models/mlp.hpp>
#include <kolam/models/shared_block_mlp.hpp>

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
  /// Batches on the device at the same time.
  std::int64_t batches = 1;
};

namespace detail {

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

/// The first layer keeps its sum and its GELU, each repeat its sum and its result; the backward
/// pass holds three arrays of that size.
inline MemoryEstimate estimate_memory(const SharedBlockMlpOptions& options,
                                      const TrainingSizes& sizes) {
  const std::int64_t wide = 2 * options.repeats + 2 + (options.repeats > 0 ? 3 : 2);
  return detail::estimate(SharedBlockMlp<DataParallel>::parameter_count(options), options.inputs,
                          checked_product(wide, options.width) + 2 * options.classes, sizes);
}

/// Each hidden layer keeps its sum and its activation; the backward pass holds two arrays of the
/// widest layer.
inline MemoryEstimate estimate_memory(const MlpOptions& options, const TrainingSizes& sizes) {
  std::int64_t kept = 0;
  std::int64_t widest = 0;
  for (const std::int64_t units : options.hidden) {
    kept += 2 * units;
    widest = std::max(widest, units);
  }
  return detail::estimate(Mlp<DataParallel>::parameter_count(options), options.inputs,
                          kept + 2 * widest + 2 * options.classes, sizes);
}

}  // namespace kolam::models

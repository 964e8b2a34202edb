/// \file
/// The shared-block MLP: h = gelu(x W_in + b_in); `repeats` times, always the same block,
/// h <- (1 - mix) h + mix gelu(h W_block + b_block); logits = h W_out + b_out.
///
/// Weights start at normal(0, sqrt(2 / fan_in)) by global index and seed, biases at zero.
#pragma once

#include <kolam/core/ops/dense.hpp>
#include <kolam/core/ops/dense_gelu_mix.hpp>
#include <kolam/core/ops/gelu.hpp>
#include <kolam/core/ops/scan.hpp>
#include <kolam/core/parameters/parameters.hpp>
#include <kolam/models/policies.hpp>

#include <cstdint>

namespace kolam::models {

struct SharedBlockMlpOptions {
  std::int64_t inputs = 784;
  std::int64_t width = 1024;
  std::int64_t classes = 10;
  std::int64_t repeats = 128;
  double mix = 0.1;
  GeluForm gelu = GeluForm::tanh;
  std::uint64_t seed = 1;
  /// Every how many repeats the state is kept for the backward pass; see `ops::scan`.
  std::int64_t keep_every = 1;
};

/// \tparam Placements a policy class such as `DataParallel`.
/// \tparam T float or double.
template <class Placements, class T = float>
class SharedBlockMlp {
 public:
  using value_type = T;
  enum Parameter : std::size_t { w_in, b_in, w_block, b_block, w_out, b_out };

  /// \throws ConfigurationError or ShapeError for options that make no network.
  SharedBlockMlp(RankContext& context, const SharedBlockMlpOptions& options)
      : options_(checked(options)), parameters_(context, specs(options), options.seed) {}

  Parameters<T>& parameters() { return parameters_; }
  const SharedBlockMlpOptions& options() const { return options_; }

  /// Logits [rows, classes] of images [rows, inputs]. \throws ShapeError if the inputs do not fit.
  template <Placement X>
  auto operator()(const BasicArray<T**, X>& x) {
    const auto w = parameters_.template get<T**, Weight>(w_block);
    const auto b = parameters_.template get<T*, Bias>(b_block);
    auto h = ops::gelu(ops::dense(x, parameters_.template get<T**, Weight>(w_in),
                                  parameters_.template get<T*, Bias>(b_in)),
                       options_.gelu);
    const auto block = [w, b, mix = options_.mix, gelu = options_.gelu](const auto& carry) {
      return ops::dense_gelu_mix(carry, w, b, mix, gelu);
    };
    h = ops::scan(std::move(h), options_.repeats, block, {.keep_every = options_.keep_every});
    return ops::dense(h, parameters_.template get<T**, Weight>(w_out),
                      parameters_.template get<T*, Bias>(b_out));
  }

  /// Parameters of a network of these options: a product of sizes, no memory.
  static std::int64_t parameter_count(const SharedBlockMlpOptions& options) {
    std::int64_t count = 0;
    for (const ParameterSpec& spec : specs(options)) count += spec.extents.count();
    return count;
  }

 private:
  using Weight = typename Placements::Weight;
  using Bias = typename Placements::Bias;

  static const SharedBlockMlpOptions& checked(const SharedBlockMlpOptions& options) {
    const auto require = [](const char* name, double value, bool holds, const char* range) {
      if (holds) return;
      throw ConfigurationError(
          fmt::format("the shared-block MLP has {} = {}; expected {}", name, value, range));
    };
    const auto at_least_one = [&](const char* name, std::int64_t value) {
      require(name, static_cast<double>(value), value >= 1, "at least 1");
    };
    at_least_one("inputs", options.inputs);
    at_least_one("width", options.width);
    at_least_one("classes", options.classes);
    require("repeats", static_cast<double>(options.repeats), options.repeats >= 0, "0 or more");
    require("mix", options.mix, options.mix >= 0 && options.mix <= 1, "0 to 1");
    return options;
  }

  static std::vector<ParameterSpec> specs(const SharedBlockMlpOptions& options) {
    const PartitionSpec weight = PartitionSpec::of<Weight>();
    const PartitionSpec bias = PartitionSpec::of<Bias>();
    return {
        {"w_in", {options.inputs, options.width}, Start::he_normal, weight},
        {"b_in", {options.width}, Start::zeros, bias},
        {"w_block", {options.width, options.width}, Start::he_normal, weight},
        {"b_block", {options.width}, Start::zeros, bias},
        {"w_out", {options.width, options.classes}, Start::he_normal, weight},
        {"b_out", {options.classes}, Start::zeros, bias},
    };
  }

  SharedBlockMlpOptions options_;
  Parameters<T> parameters_;
};

}  // namespace kolam::models

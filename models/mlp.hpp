/// \file
/// A plain multi-layer perceptron: h = activation(h W + b) for each hidden layer, then
/// logits = h W_out + b_out.
///
/// Weights start at normal(0, sqrt(2 / fan_in)) by global index and seed, biases at zero. Layers
/// are named `w_0`, `b_0`, `w_1`, ... in order.
#pragma once

#include <kolam/core/ops/dense.hpp>
#include <kolam/core/ops/gelu.hpp>
#include <kolam/core/ops/relu.hpp>
#include <kolam/core/parameters/parameters.hpp>
#include <kolam/models/policies.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kolam::models {

enum class Activation { relu, gelu_tanh, gelu_exact };

struct MlpOptions {
  std::int64_t inputs = 784;
  /// Units of each hidden layer; none makes the network linear.
  std::vector<std::int64_t> hidden = {128};
  std::int64_t classes = 10;
  Activation activation = Activation::relu;
  std::uint64_t seed = 1;
};

/// \tparam Placements a policy class such as `DataParallel`.
/// \tparam T float or double.
template <class Placements, class T = float>
class Mlp {
 public:
  using value_type = T;

  /// \throws ConfigurationError or ShapeError for options that make no network.
  Mlp(RankContext& context, const MlpOptions& options)
      : options_(options), parameters_(context, specs(options), options.seed) {}

  Parameters<T>& parameters() { return parameters_; }
  const MlpOptions& options() const { return options_; }

  /// Logits [rows, classes] of images [rows, inputs]. \throws ShapeError if the inputs do not fit.
  template <Placement X>
  auto operator()(const BasicArray<T**, X>& x) {
    const std::size_t last = options_.hidden.size();
    if (last == 0) return layer(x, 0);
    auto h = activate(layer(x, 0));
    for (std::size_t i = 1; i < last; ++i) h = activate(layer(h, i));
    return layer(h, last);
  }

  /// Parameters of a network of these options: a product of sizes, no memory.
  static std::int64_t parameter_count(const MlpOptions& options) {
    std::int64_t count = 0;
    for (const ParameterSpec& spec : specs(options)) count += spec.extents.count();
    return count;
  }

  static std::vector<ParameterSpec> specs(const MlpOptions& options) {
    if (options.inputs < 1 || options.classes < 1) {
      throw ConfigurationError(
          fmt::format("the MLP has {} inputs and {} classes; expected at least 1 of each",
                      options.inputs, options.classes));
    }
    std::vector<std::int64_t> sizes = {options.inputs};
    for (const std::int64_t units : options.hidden) {
      if (units < 1) {
        throw ConfigurationError(
            fmt::format("a hidden layer of the MLP has {} units; expected at least 1", units));
      }
      sizes.push_back(units);
    }
    sizes.push_back(options.classes);
    std::vector<ParameterSpec> all;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      const std::string number = std::to_string(i);
      all.push_back({"w_" + number,
                     {sizes[i], sizes[i + 1]},
                     Start::he_normal,
                     PartitionSpec::of<typename Placements::Weight>()});
      all.push_back({"b_" + number,
                     {sizes[i + 1]},
                     Start::zeros,
                     PartitionSpec::of<typename Placements::Bias>()});
    }
    return all;
  }

 private:
  template <Placement X>
  auto layer(const BasicArray<T**, X>& x, std::size_t index) {
    return ops::dense(x, parameters_.template get<T**, typename Placements::Weight>(2 * index),
                      parameters_.template get<T*, typename Placements::Bias>(2 * index + 1));
  }

  template <Placement Z>
  auto activate(const BasicArray<T**, Z>& z) const {
    if (options_.activation == Activation::relu) return ops::relu(z);
    return ops::gelu(
        z, options_.activation == Activation::gelu_tanh ? GeluForm::tanh : GeluForm::exact);
  }

  MlpOptions options_;
  Parameters<T> parameters_;
};

}  // namespace kolam::models

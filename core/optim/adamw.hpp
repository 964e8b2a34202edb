/// \file
/// AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2) as optax defines it, and Adam
/// (Kingma and Ba, arXiv:1412.6980, algorithm 1), which is AdamW without decay.
///
/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// p -= learning_rate * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay p).
/// The decay acts on every parameter, biases too, and uses the old p. One fused pass.
#pragma once

#include <kolam/core/kernels/optimizer_update.hpp>
#include <kolam/core/optim/optimizer_state.hpp>

#include <cmath>

namespace kolam::optim {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-4;
};

template <class T>
class AdamW {
 public:
  /// \throws ConfigurationError for an option outside its range.
  explicit AdamW(Parameters<T>& parameters, const AdamWOptions& options = {})
      : parameters_(&parameters),
        options_(options),
        first_moment_(parameters, "AdamW's first moment"),
        second_moment_(parameters, "AdamW's second moment") {
    detail::require("learning_rate", options.learning_rate, options.learning_rate >= 0, ">= 0");
    detail::require("beta1", options.beta1, options.beta1 >= 0 && options.beta1 < 1, "in [0, 1)");
    detail::require("beta2", options.beta2, options.beta2 >= 0 && options.beta2 < 1, "in [0, 1)");
    detail::require("epsilon", options.epsilon, options.epsilon > 0, "> 0");
    detail::require("weight_decay", options.weight_decay, options.weight_decay >= 0, ">= 0");
  }

  /// One step. \throws ShapeError if the gradients belong to other parameters.
  template <Placement State>
  void update(const Gradients<T, State>& gradients) {
    detail::check_gradients<State>();
    detail::check_owner(*parameters_, gradients.parameters());
    ++steps_;
    const auto step = static_cast<double>(steps_);
    kernels::adamw_update(parameters_->context().space(),
                          {.learning_rate = options_.learning_rate,
                           .beta1 = options_.beta1,
                           .beta2 = options_.beta2,
                           .epsilon = options_.epsilon,
                           .weight_decay = options_.weight_decay,
                           .bias_correction1 = 1.0 - std::pow(options_.beta1, step),
                           .bias_correction2 = 1.0 - std::pow(options_.beta2, step)},
                          parameters_->flat(), Vector<const T>(gradients.flat()),
                          first_moment_.flat(), second_moment_.flat());
  }

  std::int64_t steps() const { return steps_; }
  const FlatState<T>& first_moment() const { return first_moment_; }
  const FlatState<T>& second_moment() const { return second_moment_; }

 private:
  Parameters<T>* parameters_;
  AdamWOptions options_;
  FlatState<T> first_moment_;
  FlatState<T> second_moment_;
  std::int64_t steps_ = 0;
};

template <class T>
AdamW(Parameters<T>&, const AdamWOptions&) -> AdamW<T>;

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

template <class T>
class Adam : public AdamW<T> {
 public:
  explicit Adam(Parameters<T>& parameters, const AdamOptions& options = {})
      : AdamW<T>(parameters, {.learning_rate = options.learning_rate,
                              .beta1 = options.beta1,
                              .beta2 = options.beta2,
                              .epsilon = options.epsilon,
                              .weight_decay = 0.0}) {}
};

template <class T>
Adam(Parameters<T>&, const AdamOptions&) -> Adam<T>;

}  // namespace kolam::optim

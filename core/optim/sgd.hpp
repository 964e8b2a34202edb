/// \file
/// Stochastic gradient descent with momentum (Sutskever et al., 2013, section 2, in the form of
/// optax and PyTorch without dampening): velocity = momentum velocity + g; p -= learning_rate *
/// velocity, or with Nesterov's form p -= learning_rate * (g + momentum velocity).
#pragma once

#include <kolam/core/kernels/optimizer_update.hpp>
#include <kolam/core/optim/optimizer_state.hpp>

namespace kolam::optim {

struct SGDOptions {
  double learning_rate = 1e-2;
  double momentum = 0.0;
  bool nesterov = false;
};

template <class T>
class SGD {
 public:
  /// \throws ConfigurationError for an option outside its range.
  explicit SGD(Parameters<T>& parameters, const SGDOptions& options = {})
      : parameters_(&parameters), options_(options), velocity_(parameters, "SGD's velocity") {
    detail::require("learning_rate", options.learning_rate, options.learning_rate >= 0, ">= 0");
    detail::require("momentum", options.momentum, options.momentum >= 0 && options.momentum < 1,
                    "in [0, 1)");
  }

  /// One step. \throws ShapeError if the gradients belong to other parameters.
  template <Placement State>
  void update(const Gradients<T, State>& gradients) {
    detail::check_gradients<State>();
    detail::check_owner(*parameters_, gradients.parameters());
    kernels::sgd_momentum_update(parameters_->context().space(),
                                 {.learning_rate = options_.learning_rate,
                                  .momentum = options_.momentum,
                                  .nesterov = options_.nesterov},
                                 parameters_->flat(), Vector<const T>(gradients.flat()),
                                 velocity_.flat());
  }

  const FlatState<T>& velocity() const { return velocity_; }

 private:
  Parameters<T>* parameters_;
  SGDOptions options_;
  FlatState<T> velocity_;
};

template <class T>
SGD(Parameters<T>&, const SGDOptions&) -> SGD<T>;

}  // namespace kolam::optim

/// \file
/// Optimizer updates over the flat parameter buffer, each one fused pass. The formulas and their
/// sources are in `optim/`.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

namespace kolam::kernels {

struct AdamWStep {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  /// 1 - beta1^t and 1 - beta2^t at step t = 1, 2, ...
  double bias_correction1 = 1;
  double bias_correction2 = 1;
};

/// Updates p, m and v from g; all of one extent.
template <class T>
void adamw_update(const ExecutionSpace& space, const AdamWStep& step, Vector<T> p,
                  Vector<const T> g, Vector<T> m, Vector<T> v);

struct SGDStep {
  double learning_rate = 0;
  double momentum = 0;
  bool nesterov = false;
};

/// Updates p and velocity from g; all of one extent.
template <class T>
void sgd_momentum_update(const ExecutionSpace& space, const SGDStep& step, Vector<T> p,
                         Vector<const T> g, Vector<T> velocity);

}  // namespace kolam::kernels

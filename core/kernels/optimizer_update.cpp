#include <kolam/core/kernels/optimizer_update.hpp>

#include <kolam/core/kernels/range.hpp>

#include <cmath>

namespace kolam::kernels {

template <class T>
void adamw_update(const ExecutionSpace& space, const AdamWStep& step, Vector<T> p,
                  Vector<const T> g, Vector<T> m, Vector<T> v) {
  T* const parameters = p.data();
  const T* const gradients = g.data();
  T* const first = m.data();
  T* const second = v.data();
  const auto beta1 = static_cast<T>(step.beta1);
  const auto beta2 = static_cast<T>(step.beta2);
  const auto rest1 = static_cast<T>(1 - step.beta1);
  const auto rest2 = static_cast<T>(1 - step.beta2);
  const auto epsilon = static_cast<T>(step.epsilon);
  // One division and one root per element: dividing by constants is done here, once.
  const auto rate = static_cast<T>(step.learning_rate / step.bias_correction1);
  const auto root_scale = static_cast<T>(1 / std::sqrt(step.bias_correction2));
  const auto keep = static_cast<T>(1 - step.learning_rate * step.weight_decay);
  Kokkos::parallel_for(
      "kolam::kernels::adamw_update", range(space, static_cast<std::int64_t>(p.size())),
      KOKKOS_LAMBDA(std::int64_t i) {
        const T gradient = gradients[i];
        const T mean = beta1 * first[i] + rest1 * gradient;
        const T square = beta2 * second[i] + rest2 * gradient * gradient;
        first[i] = mean;
        second[i] = square;
        const T root = compat::math::sqrt(square) * root_scale + epsilon;
        parameters[i] = keep * parameters[i] - rate * mean / root;
      });
}

template <class T>
void sgd_momentum_update(const ExecutionSpace& space, const SGDStep& step, Vector<T> p,
                         Vector<const T> g, Vector<T> velocity) {
  T* const parameters = p.data();
  const T* const gradients = g.data();
  T* const velocities = velocity.data();
  const auto learning_rate = static_cast<T>(step.learning_rate);
  const auto momentum = static_cast<T>(step.momentum);
  const T ahead = step.nesterov ? momentum : T(1);
  const T direct = step.nesterov ? T(1) : T(0);
  Kokkos::parallel_for(
      "kolam::kernels::sgd_momentum_update", range(space, static_cast<std::int64_t>(p.size())),
      KOKKOS_LAMBDA(std::int64_t i) {
        const T moved = momentum * velocities[i] + gradients[i];
        velocities[i] = moved;
        parameters[i] -= learning_rate * (direct * gradients[i] + ahead * moved);
      });
}

#define KOLAM_INSTANTIATE(T)                                                             \
  template void adamw_update<T>(const ExecutionSpace&, const AdamWStep&, Vector<T>,      \
                                Vector<const T>, Vector<T>, Vector<T>);                  \
  template void sgd_momentum_update<T>(const ExecutionSpace&, const SGDStep&, Vector<T>, \
                                       Vector<const T>, Vector<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

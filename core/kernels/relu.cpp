#include <kolam/core/kernels/range.hpp>
#include <kolam/core/kernels/relu.hpp>

namespace kolam::kernels {

template <class T>
void relu_forward(const ExecutionSpace& space, Matrix<const T> z, Matrix<T> y) {
  const T* const from = z.data();
  T* const to = y.data();
  Kokkos::parallel_for(
      "kolam::kernels::relu_forward", range(space, static_cast<std::int64_t>(z.size())),
      KOKKOS_LAMBDA(std::int64_t i) { to[i] = from[i] < T(0) ? T(0) : from[i]; });
}

template <class T>
void relu_backward(const ExecutionSpace& space, Matrix<const T> z, Matrix<const T> dy, T beta,
                   Matrix<T> dz) {
  const T* const inputs = z.data();
  const T* const from = dy.data();
  T* const to = dz.data();
  const auto policy = range(space, static_cast<std::int64_t>(z.size()));
  if (beta == T(0)) {
    Kokkos::parallel_for(
        "kolam::kernels::relu_backward", policy,
        KOKKOS_LAMBDA(std::int64_t i) { to[i] = inputs[i] > T(0) ? from[i] : T(0); });
  } else {
    Kokkos::parallel_for(
        "kolam::kernels::relu_backward", policy, KOKKOS_LAMBDA(std::int64_t i) {
          to[i] = beta * to[i] + (inputs[i] > T(0) ? from[i] : T(0));
        });
  }
}

#define KOLAM_INSTANTIATE(T)                                                                 \
  template void relu_forward<T>(const ExecutionSpace&, Matrix<const T>, Matrix<T>);          \
  template void relu_backward<T>(const ExecutionSpace&, Matrix<const T>, Matrix<const T>, T, \
                                 Matrix<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

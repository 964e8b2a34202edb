#include <kolam/core/kernels/gelu.hpp>

#include <kolam/core/kernels/range.hpp>

namespace kolam::kernels {

namespace {

template <class Gelu, class T>
void forward(const ExecutionSpace& space, const Matrix<const T>& z, const Matrix<T>& y) {
  const T* const from = z.data();
  T* const to = y.data();
  Kokkos::parallel_for(
      "kolam::kernels::gelu_forward", range(space, static_cast<std::int64_t>(z.size())),
      KOKKOS_LAMBDA(std::int64_t i) { to[i] = Gelu::value(from[i]); });
}

template <class Gelu, class T>
void backward(const ExecutionSpace& space, const Matrix<const T>& z, const Matrix<const T>& dy,
              T beta, const Matrix<T>& dz) {
  const T* const inputs = z.data();
  const T* const from = dy.data();
  T* const to = dz.data();
  const auto policy = range(space, static_cast<std::int64_t>(z.size()));
  if (beta == T(0)) {
    Kokkos::parallel_for(
        "kolam::kernels::gelu_backward", policy,
        KOKKOS_LAMBDA(std::int64_t i) { to[i] = from[i] * Gelu::derivative(inputs[i]); });
  } else {
    Kokkos::parallel_for(
        "kolam::kernels::gelu_backward", policy, KOKKOS_LAMBDA(std::int64_t i) {
          to[i] = beta * to[i] + from[i] * Gelu::derivative(inputs[i]);
        });
  }
}

}  // namespace

template <class T>
void gelu_forward(const ExecutionSpace& space, GeluForm form, Matrix<const T> z, Matrix<T> y) {
  if (form == GeluForm::tanh) {
    forward<TanhGelu>(space, z, y);
  } else {
    forward<ExactGelu>(space, z, y);
  }
}

template <class T>
void gelu_backward(const ExecutionSpace& space, GeluForm form, Matrix<const T> z,
                   Matrix<const T> dy, T beta, Matrix<T> dz) {
  if (form == GeluForm::tanh) {
    backward<TanhGelu>(space, z, dy, beta, dz);
  } else {
    backward<ExactGelu>(space, z, dy, beta, dz);
  }
}

#define KOLAM_INSTANTIATE(T)                                                                  \
  template void gelu_forward<T>(const ExecutionSpace&, GeluForm, Matrix<const T>, Matrix<T>); \
  template void gelu_backward<T>(const ExecutionSpace&, GeluForm, Matrix<const T>,            \
                                 Matrix<const T>, T, Matrix<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

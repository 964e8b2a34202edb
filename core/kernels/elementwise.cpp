#include <kolam/core/kernels/elementwise.hpp>

#include <kolam/core/kernels/range.hpp>

namespace kolam::kernels {

template <class T>
void fill(const ExecutionSpace& space, Vector<T> v, T value) {
  T* const target = v.data();
  Kokkos::parallel_for(
      "kolam::kernels::fill", range(space, static_cast<std::int64_t>(v.size())),
      KOKKOS_LAMBDA(std::int64_t i) { target[i] = value; });
}

template <class T>
void copy(const ExecutionSpace& space, Vector<const T> source, Vector<T> target) {
  const T* const from = source.data();
  T* const to = target.data();
  Kokkos::parallel_for(
      "kolam::kernels::copy", range(space, static_cast<std::int64_t>(source.size())),
      KOKKOS_LAMBDA(std::int64_t i) { to[i] = from[i]; });
}

template <class T>
void axpby(const ExecutionSpace& space, T alpha, Vector<const T> x, T beta, Vector<T> y) {
  const T* const from = x.data();
  T* const to = y.data();
  const auto policy = range(space, static_cast<std::int64_t>(x.size()));
  if (beta == T(0)) {
    Kokkos::parallel_for(
        "kolam::kernels::axpby", policy,
        KOKKOS_LAMBDA(std::int64_t i) { to[i] = alpha * from[i]; });
  } else {
    Kokkos::parallel_for(
        "kolam::kernels::axpby", policy,
        KOKKOS_LAMBDA(std::int64_t i) { to[i] = alpha * from[i] + beta * to[i]; });
  }
}

template <class T>
void scale_matrix(const ExecutionSpace& space, T beta, Matrix<T> c) {
  const auto columns = static_cast<std::int64_t>(c.extent(1));
  Kokkos::parallel_for(
      "kolam::kernels::scale_matrix", range(space, static_cast<std::int64_t>(c.extent(0))),
      KOKKOS_LAMBDA(std::int64_t row) {
        for (std::int64_t j = 0; j < columns; ++j)
          c(row, j) = beta == T(0) ? T(0) : beta * c(row, j);
      });
}

template <class T>
void convert_scaled(const ExecutionSpace& space, ScalarView<const std::int64_t> count, T factor,
                    ScalarView<T> target) {
  Kokkos::parallel_for(
      "kolam::kernels::convert_scaled", range(space, 1),
      KOKKOS_LAMBDA(std::int64_t) { target() = factor * static_cast<T>(count()); });
}

#define KOLAM_INSTANTIATE(T)                                                                \
  template void fill<T>(const ExecutionSpace&, Vector<T>, T);                               \
  template void copy<T>(const ExecutionSpace&, Vector<const T>, Vector<T>);                 \
  template void axpby<T>(const ExecutionSpace&, T, Vector<const T>, T, Vector<T>);          \
  template void scale_matrix<T>(const ExecutionSpace&, T, Matrix<T>);                       \
  template void convert_scaled<T>(const ExecutionSpace&, ScalarView<const std::int64_t>, T, \
                                  ScalarView<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

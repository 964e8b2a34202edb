#include <kolam/core/kernels/range.hpp>
#include <kolam/core/kernels/residual_mix.hpp>

namespace kolam::kernels {

template <class T>
void residual_mix(const ExecutionSpace& space, T mix, Matrix<const T> h, Matrix<const T> update,
                  Matrix<T> out) {
  const T* const kept = h.data();
  const T* const added = update.data();
  T* const to = out.data();
  const T keep = T(1) - mix;
  Kokkos::parallel_for(
      "kolam::kernels::residual_mix", range(space, static_cast<std::int64_t>(h.size())),
      KOKKOS_LAMBDA(std::int64_t i) { to[i] = keep * kept[i] + mix * added[i]; });
}

template void residual_mix<float>(const ExecutionSpace&, float, Matrix<const float>,
                                  Matrix<const float>, Matrix<float>);
template void residual_mix<double>(const ExecutionSpace&, double, Matrix<const double>,
                                   Matrix<const double>, Matrix<double>);

}  // namespace kolam::kernels

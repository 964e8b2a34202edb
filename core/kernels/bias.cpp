#include <kolam/core/kernels/bias.hpp>

#include <kolam/core/kernels/range.hpp>

namespace kolam::kernels {

template <class T>
void add_bias(const ExecutionSpace& space, Vector<const T> bias, Matrix<T> y) {
  const auto columns = static_cast<std::int64_t>(y.extent(1));
  const T* const values = bias.data();
  Kokkos::parallel_for(
      "kolam::kernels::add_bias", range(space, static_cast<std::int64_t>(y.extent(0))),
      KOKKOS_LAMBDA(std::int64_t row) {
        T* const target = &y(row, 0);
        for (std::int64_t j = 0; j < columns; ++j) target[j] += values[j];
      });
}

template <class T>
void sum_rows(const ExecutionSpace& space, Matrix<const T> dy, T beta, Vector<T> out) {
  const auto rows = static_cast<std::int64_t>(dy.extent(0));
  const auto columns = static_cast<std::int64_t>(dy.extent(1));
  Kokkos::parallel_for(
      "kolam::kernels::sum_rows", range(space, column_blocks(columns)),
      KOKKOS_LAMBDA(std::int64_t block) {
        const std::int64_t first = block * column_block;
        const std::int64_t width = columns - first < column_block ? columns - first : column_block;
        T sums[column_block];
        for (std::int64_t j = 0; j < width; ++j) sums[j] = T(0);
        for (std::int64_t row = 0; row < rows; ++row) {
          const T* const values = &dy(row, first);
          for (std::int64_t j = 0; j < width; ++j) sums[j] += values[j];
        }
        for (std::int64_t j = 0; j < width; ++j) {
          out(first + j) = beta == T(0) ? sums[j] : beta * out(first + j) + sums[j];
        }
      });
}

#define KOLAM_INSTANTIATE(T)                                                    \
  template void add_bias<T>(const ExecutionSpace&, Vector<const T>, Matrix<T>); \
  template void sum_rows<T>(const ExecutionSpace&, Matrix<const T>, T, Vector<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

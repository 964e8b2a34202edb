#include <kolam/core/kernels/correct_count.hpp>

#include <kolam/core/kernels/range.hpp>

namespace kolam::kernels {

template <class T>
void correct_count(const ExecutionSpace& space, Matrix<const T> logits,
                   Vector<const std::int32_t> labels, Vector<std::int32_t> row_hits,
                   ScalarView<std::int64_t> count) {
  const auto rows = static_cast<std::int64_t>(logits.extent(0));
  const auto classes = static_cast<std::int64_t>(logits.extent(1));
  Kokkos::parallel_for(
      "kolam::kernels::correct_count", range(space, rows), KOKKOS_LAMBDA(std::int64_t row) {
        std::int64_t best = 0;
        bool has_nan = logits(row, 0) != logits(row, 0);
        for (std::int64_t j = 1; j < classes; ++j) {
          has_nan = has_nan || logits(row, j) != logits(row, j);
          if (logits(row, j) > logits(row, best)) best = j;
        }
        row_hits(row) = !has_nan && best == labels(row) ? 1 : 0;
      });
  Kokkos::parallel_for(
      "kolam::kernels::correct_count_sum", range(space, 1), KOKKOS_LAMBDA(std::int64_t) {
        std::int64_t sum = 0;
        for (std::int64_t row = 0; row < rows; ++row) sum += row_hits(row);
        count() = sum;
      });
}

template void correct_count<float>(const ExecutionSpace&, Matrix<const float>,
                                   Vector<const std::int32_t>, Vector<std::int32_t>,
                                   ScalarView<std::int64_t>);
template void correct_count<double>(const ExecutionSpace&, Matrix<const double>,
                                    Vector<const std::int32_t>, Vector<std::int32_t>,
                                    ScalarView<std::int64_t>);

}  // namespace kolam::kernels

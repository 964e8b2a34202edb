#include <kolam/core/kernels/range.hpp>
#include <kolam/core/kernels/softmax_cross_entropy.hpp>

namespace kolam::kernels {

namespace {

template <class T>
KOKKOS_INLINE_FUNCTION T largest(const T* values, std::int64_t count) {
  T result = values[0];
  for (std::int64_t j = 1; j < count; ++j) {
    // Written so that a NaN is kept.
    result = values[j] <= result ? result : values[j];
  }
  return result;
}

/// Sum of exp(value - shift), in order.
template <class T>
KOKKOS_INLINE_FUNCTION T exp_sum(const T* values, std::int64_t count, T shift) {
  T sum = T(0);
  for (std::int64_t j = 0; j < count; ++j) sum += compat::math::exp(values[j] - shift);
  return sum;
}

/// Adds along a binary tree in place: neighbours first, then neighbours of neighbours.
template <class T>
void tree_sum(const ExecutionSpace& space, const Vector<T>& values, T scale,
              const ScalarView<T>& sum) {
  const auto count = static_cast<std::int64_t>(values.size());
  T* const terms = values.data();
  Kokkos::parallel_for(
      "kolam::kernels::tree_sum", range(space, 1), KOKKOS_LAMBDA(std::int64_t) {
        for (std::int64_t stride = 1; stride < count; stride *= 2) {
          for (std::int64_t i = 0; i + stride < count; i += 2 * stride)
            terms[i] += terms[i + stride];
        }
        sum() = count == 0 ? T(0) : scale * terms[0];
      });
}

}  // namespace

template <class T>
void softmax_cross_entropy_forward(const ExecutionSpace& space, Matrix<const T> logits,
                                   Vector<const std::int32_t> labels, T scale, Vector<T> row_losses,
                                   ScalarView<T> loss) {
  const auto classes = static_cast<std::int64_t>(logits.extent(1));
  Kokkos::parallel_for(
      "kolam::kernels::softmax_cross_entropy_forward",
      range(space, static_cast<std::int64_t>(logits.extent(0))), KOKKOS_LAMBDA(std::int64_t row) {
        const T* const values = &logits(row, 0);
        const T top = largest(values, classes);
        row_losses(row) =
            compat::math::log(exp_sum(values, classes, top)) - (values[labels(row)] - top);
      });
  tree_sum(space, row_losses, scale, loss);
}

template <class T>
void softmax_cross_entropy_backward(const ExecutionSpace& space, Matrix<const T> logits,
                                    Vector<const std::int32_t> labels, ScalarView<const T> upstream,
                                    T scale, T beta, Matrix<T> dlogits) {
  const auto classes = static_cast<std::int64_t>(logits.extent(1));
  Kokkos::parallel_for(
      "kolam::kernels::softmax_cross_entropy_backward",
      range(space, static_cast<std::int64_t>(logits.extent(0))), KOKKOS_LAMBDA(std::int64_t row) {
        const T* const values = &logits(row, 0);
        const T top = largest(values, classes);
        const T sum = exp_sum(values, classes, top);
        const T factor = upstream() * scale;
        for (std::int64_t j = 0; j < classes; ++j) {
          const T hit = j == labels(row) ? T(1) : T(0);
          const T gradient = factor * (compat::math::exp(values[j] - top) / sum - hit);
          dlogits(row, j) = beta == T(0) ? gradient : beta * dlogits(row, j) + gradient;
        }
      });
}

#define KOLAM_INSTANTIATE(T)                                                                       \
  template void softmax_cross_entropy_forward<T>(const ExecutionSpace&, Matrix<const T>,           \
                                                 Vector<const std::int32_t>, T, Vector<T>,         \
                                                 ScalarView<T>);                                   \
  template void softmax_cross_entropy_backward<T>(const ExecutionSpace&, Matrix<const T>,          \
                                                  Vector<const std::int32_t>, ScalarView<const T>, \
                                                  T, T, Matrix<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

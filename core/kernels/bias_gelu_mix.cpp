#include <kolam/core/kernels/bias_gelu_mix.hpp>

#include <kolam/core/kernels/range.hpp>

namespace kolam::kernels {

namespace {

template <class Gelu, class T>
void forward(const ExecutionSpace& space, T mix, const Vector<const T>& bias, const Matrix<T>& z,
             const Matrix<const T>& h, const Matrix<T>& out) {
  const auto columns = static_cast<std::int64_t>(z.extent(1));
  const T keep = T(1) - mix;
  const T* const biases = bias.data();
  Kokkos::parallel_for(
      "kolam::kernels::bias_gelu_mix_forward", range(space, static_cast<std::int64_t>(z.extent(0))),
      KOKKOS_LAMBDA(std::int64_t row) {
        T* const __restrict sums = &z(row, 0);
        const T* const __restrict kept = &h(row, 0);
        T* const __restrict to = &out(row, 0);
        for (std::int64_t j = 0; j < columns; ++j) {
          const T sum = sums[j] + biases[j];
          sums[j] = sum;
          to[j] = keep * kept[j] + mix * Gelu::value(sum);
        }
      });
}

/// One row of a block of columns.
template <class Gelu, bool AddToDh, class T>
KOKKOS_INLINE_FUNCTION void backward_row(std::int64_t width, T mix, T beta,
                                         const T* const __restrict z,
                                         const T* const __restrict dout, T* const __restrict dz,
                                         T* const __restrict dh, T* const __restrict sums) {
  const T keep = T(1) - mix;
  for (std::int64_t j = 0; j < width; ++j) {
    const T gradient = mix * dout[j] * Gelu::derivative(z[j]);
    dz[j] = gradient;
    sums[j] += gradient;
    dh[j] = AddToDh ? beta * dh[j] + keep * dout[j] : keep * dout[j];
  }
}

template <class Gelu, bool AddToDh, class T>
void backward(const ExecutionSpace& space, T mix, const Matrix<const T>& z,
              const Matrix<const T>& dout, const Matrix<T>& dz, T beta, const Matrix<T>& dh,
              T beta_bias, const Vector<T>& dbias) {
  const auto rows = static_cast<std::int64_t>(z.extent(0));
  const auto columns = static_cast<std::int64_t>(z.extent(1));
  Kokkos::parallel_for(
      "kolam::kernels::bias_gelu_mix_backward", range(space, column_blocks(columns)),
      KOKKOS_LAMBDA(std::int64_t block) {
        const std::int64_t first = block * column_block;
        const std::int64_t width = columns - first < column_block ? columns - first : column_block;
        T sums[column_block];
        for (std::int64_t j = 0; j < width; ++j) sums[j] = T(0);
        for (std::int64_t row = 0; row < rows; ++row) {
          backward_row<Gelu, AddToDh>(width, mix, beta, &z(row, first), &dout(row, first),
                                      &dz(row, first), &dh(row, first), sums);
        }
        for (std::int64_t j = 0; j < width; ++j) {
          dbias(first + j) = beta_bias == T(0) ? sums[j] : beta_bias * dbias(first + j) + sums[j];
        }
      });
}

}  // namespace

template <class T>
void bias_gelu_mix_forward(const ExecutionSpace& space, GeluForm form, T mix, Vector<const T> bias,
                           Matrix<T> z, Matrix<const T> h, Matrix<T> out) {
  if (form == GeluForm::tanh) {
    forward<TanhGelu>(space, mix, bias, z, h, out);
  } else {
    forward<ExactGelu>(space, mix, bias, z, h, out);
  }
}

template <class T>
void bias_gelu_mix_backward(const ExecutionSpace& space, GeluForm form, T mix, Matrix<const T> z,
                            Matrix<const T> dout, Matrix<T> dz, T beta, Matrix<T> dh, T beta_bias,
                            Vector<T> dbias) {
  const auto run = [&]<class Gelu>(Gelu) {
    if (beta == T(0)) {
      backward<Gelu, false>(space, mix, z, dout, dz, beta, dh, beta_bias, dbias);
    } else {
      backward<Gelu, true>(space, mix, z, dout, dz, beta, dh, beta_bias, dbias);
    }
  };
  if (form == GeluForm::tanh) {
    run(TanhGelu{});
  } else {
    run(ExactGelu{});
  }
}

#define KOLAM_INSTANTIATE(T)                                                                   \
  template void bias_gelu_mix_forward<T>(const ExecutionSpace&, GeluForm, T, Vector<const T>,  \
                                         Matrix<T>, Matrix<const T>, Matrix<T>);               \
  template void bias_gelu_mix_backward<T>(const ExecutionSpace&, GeluForm, T, Matrix<const T>, \
                                          Matrix<const T>, Matrix<T>, T, Matrix<T>, T, Vector<T>)

KOLAM_INSTANTIATE(float);
KOLAM_INSTANTIATE(double);

}  // namespace kolam::kernels

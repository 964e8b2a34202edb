// Element-wise kernels and reductions against plain loops in long double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/kernels/bias.hpp>
#include <kolam/core/kernels/bias_gelu_mix.hpp>
#include <kolam/core/kernels/correct_count.hpp>
#include <kolam/core/kernels/elementwise.hpp>
#include <kolam/core/kernels/gelu.hpp>
#include <kolam/core/kernels/optimizer_update.hpp>
#include <kolam/core/kernels/relu.hpp>
#include <kolam/core/kernels/residual_mix.hpp>
#include <kolam/core/kernels/softmax_cross_entropy.hpp>
#include <kolam/core/kernels/vector_math.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "matrices.hpp"
#include "support/kokkos_events.hpp"

namespace kolam::testing {

namespace {

template <class T>
constexpr T epsilon = std::numeric_limits<T>::epsilon();
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

using Real = long double;

Real gelu(GeluForm form, Real z) {
  if (form == GeluForm::exact) return z / 2 * std::erfc(-z / std::sqrt(2.0L));
  const Real inner = std::sqrt(2.0L / std::acos(-1.0L)) * (z + 0.044715L * z * z * z);
  return z / (1 + std::exp(-2 * inner));
}

/// By the central difference, exact to about 1e-12.
Real gelu_slope(GeluForm form, Real z) {
  const Real step = 1e-6L;
  return (gelu(form, z + step) - gelu(form, z - step)) / (2 * step);
}

template <class T>
class Kernels : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, Precisions);

TYPED_TEST(Kernels, BoundedExpIsWithinFourRoundings) {
  using T = TypeParam;
  const T bound = std::is_same_v<T, float> ? T(87) : T(700);
  for (int i = 0; i <= 20000; ++i) {
    const T x = bound * (static_cast<T>(i) / 10000 - 1);
    const Real exact = std::exp(static_cast<Real>(x));
    ASSERT_NEAR(static_cast<double>(kernels::bounded_exp(x) / exact), 1, 4 * epsilon<T>) << x;
  }
  EXPECT_EQ(kernels::bounded_exp(T(0)), T(1));
  for (const T end : {bound, -bound}) {
    const T beyond = kernels::bounded_exp(end * infinity<T>);
    EXPECT_NEAR(static_cast<double>(beyond / std::exp(static_cast<Real>(end))), 1, 4 * epsilon<T>);
  }
  EXPECT_TRUE(std::isnan(kernels::bounded_exp(not_a_number<T>)));
}

TYPED_TEST(Kernels, GeluHasThePublishedValuesOfBothForms) {
  using T = TypeParam;
  HostMatrix<T> z(1, 4);
  HostMatrix<T> y(1, 4);
  for (int i = 0; i < 4; ++i) z(0, i) = T(std::vector{-2, -1, 1, 2}[static_cast<std::size_t>(i)]);
  const auto expect = [&](GeluForm form, const std::vector<double>& values) {
    kernels::gelu_forward<T>(ExecutionSpace(), form, z.read(), y.view());
    for (int i = 0; i < 4; ++i) {
      const double value = values[static_cast<std::size_t>(i)];
      EXPECT_NEAR(y(0, i), value, 5e-7 * std::abs(value));
    }
  };
  expect(GeluForm::exact, {-0.04550026, -0.1586553, 0.8413447, 1.954500});
  expect(GeluForm::tanh, {-0.04540231, -0.1588080, 0.8411920, 1.954598});
}

TYPED_TEST(Kernels, GeluAndItsSlopeAreExactOverTheLine) {
  using T = TypeParam;
  constexpr std::int64_t points = 4001;
  HostMatrix<T> z(1, points);
  for (std::int64_t i = 0; i < points; ++i) z(0, i) = static_cast<T>(i - 2000) / 200;
  HostMatrix<T> ones(1, points);
  ones.fill(1);
  HostMatrix<T> y(1, points);
  HostMatrix<T> dz(1, points);
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    dz.fill(not_a_number<T>);
    kernels::gelu_forward<T>(ExecutionSpace(), form, z.read(), y.view());
    kernels::gelu_backward<T>(ExecutionSpace(), form, z.read(), ones.read(), T(0), dz.view());
    for (std::int64_t i = 0; i < points; ++i) {
      const Real x = z(0, i);
      // The relative error grows with the exponent of exp, in the far left tail.
      const double bound = 8 * epsilon<T> * static_cast<double>(1 + x * x);
      ASSERT_NEAR(y(0, i), static_cast<double>(gelu(form, x)),
                  bound * static_cast<double>(std::abs(gelu(form, x))) + 1e-35)
          << static_cast<double>(x);
      ASSERT_NEAR(dz(0, i), static_cast<double>(gelu_slope(form, x)), bound + 1e-11);
    }
  }
}

TYPED_TEST(Kernels, GeluAtTheEndsOfTheLine) {
  using T = TypeParam;
  HostMatrix<T> z(1, 4);
  z(0, 0) = infinity<T>;
  z(0, 1) = not_a_number<T>;
  z(0, 2) = T(-1e4);
  z(0, 3) = T(1e4);
  HostMatrix<T> y(1, 4);
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    kernels::gelu_forward<T>(ExecutionSpace(), form, z.read(), y.view());
    EXPECT_EQ(y(0, 0), infinity<T>);
    EXPECT_TRUE(std::isnan(y(0, 1)));
    EXPECT_NEAR(y(0, 2), 0, 1e-30);
    EXPECT_EQ(y(0, 3), T(1e4));
  }
}

TYPED_TEST(Kernels, GeluBackwardAddsToWhatIsThereAndWorksInPlace) {
  using T = TypeParam;
  const HostMatrix<T> z(5, 7, 1);
  const HostMatrix<T> dy(5, 7, 2);
  HostMatrix<T> plain(5, 7);
  kernels::gelu_backward<T>(ExecutionSpace(), GeluForm::tanh, z.view(), dy.view(), T(0),
                            plain.view());
  HostMatrix<T> in_place = dy;
  kernels::gelu_backward<T>(ExecutionSpace(), GeluForm::tanh, z.view(), in_place.read(), T(0),
                            in_place.view());
  EXPECT_TRUE(in_place == plain);
  const HostMatrix<T> before(5, 7, 3);
  HostMatrix<T> added = before;
  kernels::gelu_backward<T>(ExecutionSpace(), GeluForm::tanh, z.view(), dy.view(), T(0.5),
                            added.view());
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) {
      EXPECT_NEAR(added(i, j), T(0.5) * before(i, j) + plain(i, j), 4 * epsilon<T>);
    }
  }
}

TYPED_TEST(Kernels, ReluKeepsNanAndHasNoSlopeAtZero) {
  using T = TypeParam;
  HostMatrix<T> z(1, 4);
  z(0, 0) = T(-3);
  z(0, 1) = T(0);
  z(0, 2) = T(3);
  z(0, 3) = not_a_number<T>;
  HostMatrix<T> y(1, 4);
  kernels::relu_forward<T>(ExecutionSpace(), z.read(), y.view());
  EXPECT_EQ(y(0, 0), T(0));
  EXPECT_EQ(y(0, 1), T(0));
  EXPECT_EQ(y(0, 2), T(3));
  EXPECT_TRUE(std::isnan(y(0, 3)));
  HostMatrix<T> dz(1, 4);
  dz.fill(T(5));
  kernels::relu_backward<T>(ExecutionSpace(), z.read(), dz.read(), T(0), dz.view());
  EXPECT_EQ(dz(0, 0), T(0));
  EXPECT_EQ(dz(0, 1), T(0));
  EXPECT_EQ(dz(0, 2), T(5));
}

TYPED_TEST(Kernels, BiasIsAddedToEveryRowAndItsGradientSumsThem) {
  using T = TypeParam;
  for (const std::int64_t rows : {0, 1, 3, 300}) {
    for (const std::int64_t columns : {1, 7, 255, 256, 513}) {
      const HostMatrix<T> bias(1, columns, 1);
      const HostMatrix<T> before(rows, columns, 2);
      HostMatrix<T> y = before;
      kernels::add_bias<T>(ExecutionSpace(), bias.flat(), y.view());
      HostMatrix<T> sums(1, columns);
      sums.fill(not_a_number<T>);
      kernels::sum_rows<T>(ExecutionSpace(), before.view(), T(0), sums.flat());
      HostMatrix<T> added = bias;
      kernels::sum_rows<T>(ExecutionSpace(), before.view(), T(0.5), added.flat());
      for (std::int64_t j = 0; j < columns; ++j) {
        T sum = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
          ASSERT_EQ(y(i, j), before(i, j) + bias(0, j));
          sum += before(i, j);
        }
        ASSERT_EQ(sums(0, j), sum) << "over the rows in order";
        ASSERT_NEAR(added(0, j), T(0.5) * bias(0, j) + sum, epsilon<T> * (2 + std::abs(sum)));
      }
    }
  }
}

TYPED_TEST(Kernels, BiasGeluMixIsTheThreeInOnePass) {
  using T = TypeParam;
  const T mix = T(0.1);
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    for (const std::int64_t columns : {1, 17, 300}) {
      const HostMatrix<T> bias(1, columns, 1);
      const HostMatrix<T> product(9, columns, 2);
      const HostMatrix<T> h(9, columns, 3);
      HostMatrix<T> z = product;
      HostMatrix<T> out(9, columns);
      kernels::bias_gelu_mix_forward<T>(ExecutionSpace(), form, mix, bias.flat(), z.view(),
                                        h.view(), out.view());
      for (std::int64_t i = 0; i < 9; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          const T sum = product(i, j) + bias(0, j);
          ASSERT_EQ(z(i, j), sum);
          const Real expected = (1 - Real(mix)) * h(i, j) + Real(mix) * gelu(form, sum);
          ASSERT_NEAR(out(i, j), static_cast<double>(expected), 8 * epsilon<T>);
        }
      }
    }
  }
}

TYPED_TEST(Kernels, BiasGeluMixBackwardGivesAllThreeGradients) {
  using T = TypeParam;
  const T mix = T(0.25);
  constexpr std::int64_t rows = 11;
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    for (const T beta : {T(0), T(1)}) {
      for (const std::int64_t columns : {1, 255, 300}) {
        const HostMatrix<T> z(rows, columns, 1);
        const HostMatrix<T> dout(rows, columns, 2);
        HostMatrix<T> dh(rows, columns, 3);
        HostMatrix<T> dbias(1, columns, 4);
        if (beta == T(0)) {
          dh.fill(not_a_number<T>);
          dbias.fill(not_a_number<T>);
        }
        const HostMatrix<T> dh_before = dh;
        const HostMatrix<T> dbias_before = dbias;
        HostMatrix<T> dz(rows, columns);
        kernels::bias_gelu_mix_backward<T>(ExecutionSpace(), form, mix, z.view(), dout.view(),
                                           dz.view(), beta, dh.view(), beta, dbias.flat());
        for (std::int64_t j = 0; j < columns; ++j) {
          T sum = 0;
          for (std::int64_t i = 0; i < rows; ++i) {
            const Real slope = Real(mix) * dout(i, j) * gelu_slope(form, z(i, j));
            ASSERT_NEAR(dz(i, j), static_cast<double>(slope), 16 * epsilon<T> + 1e-11);
            const T kept = beta == T(0) ? T(0) : dh_before(i, j);
            ASSERT_NEAR(dh(i, j), kept + (1 - mix) * dout(i, j), 4 * epsilon<T>);
            sum += dz(i, j);
          }
          const T kept = beta == T(0) ? T(0) : dbias_before(0, j);
          ASSERT_NEAR(dbias(0, j), kept + sum, 4 * epsilon<T>);
        }
      }
    }
  }
}

TYPED_TEST(Kernels, ResidualMixWeighsBoth) {
  using T = TypeParam;
  const HostMatrix<T> h(3, 5, 1);
  const HostMatrix<T> update(3, 5, 2);
  HostMatrix<T> out(3, 5);
  kernels::residual_mix<T>(ExecutionSpace(), T(0.1), h.view(), update.view(), out.view());
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(out(i, j), T(0.9) * h(i, j) + T(0.1) * update(i, j), 4 * epsilon<T>);
    }
  }
}

TYPED_TEST(Kernels, PassesOverMemoryDoNotReadATargetOfBetaZero) {
  using T = TypeParam;
  const HostMatrix<T> x(4, 6, 1);
  HostMatrix<T> y(4, 6);
  y.fill(not_a_number<T>);
  kernels::axpby<T>(ExecutionSpace(), T(3), x.flat(), T(0), y.flat());
  for (std::int64_t j = 0; j < 6; ++j) EXPECT_EQ(y(2, j), 3 * x(2, j));
  kernels::axpby<T>(ExecutionSpace(), T(2), x.flat(), T(-1), y.flat());
  for (std::int64_t j = 0; j < 6; ++j) EXPECT_NEAR(y(2, j), -x(2, j), 4 * epsilon<T>);
  HostMatrix<T> copied(4, 6);
  kernels::copy<T>(ExecutionSpace(), x.flat(), copied.flat());
  EXPECT_TRUE(copied == x);
  HostMatrix<T> padded(4, 6, 1, 2);
  const T outside = padded(0, 6);
  kernels::scale_matrix<T>(ExecutionSpace(), T(0), padded.view());
  EXPECT_EQ(padded(3, 5), T(0));
  EXPECT_EQ(padded(0, 6), outside) << "between the rows";
  kernels::fill<T>(ExecutionSpace(), padded.flat(), T(7));
  EXPECT_EQ(padded(3, 4), T(7));
  const std::int64_t count = 12;
  T converted = 0;
  kernels::convert_scaled<T>(ExecutionSpace(), ScalarView<const std::int64_t>(&count), T(0.5),
                             ScalarView<T>(&converted));
  EXPECT_EQ(converted, T(6));
}

TYPED_TEST(Kernels, NoElementsAreNoWork) {
  using T = TypeParam;
  HostMatrix<T> none(0, 5);
  HostMatrix<T> bias(1, 5, 1);
  const ExecutionSpace space;
  kernels::gelu_forward<T>(space, GeluForm::tanh, none.read(), none.view());
  kernels::relu_backward<T>(space, none.read(), none.read(), T(1), none.view());
  kernels::add_bias<T>(space, bias.flat(), none.view());
  kernels::bias_gelu_mix_forward<T>(space, GeluForm::tanh, T(0.1), bias.flat(), none.view(),
                                    none.read(), none.view());
  kernels::adamw_update<T>(space, {}, none.flat(), none.flat(), none.flat(), none.flat());
  HostMatrix<T> no_columns(3, 0);
  kernels::sum_rows<T>(space, no_columns.read(), T(0), none.flat());
  T loss = T(3);
  std::int64_t hits = 3;
  const Vector<const std::int32_t> labels(nullptr, 0);
  kernels::softmax_cross_entropy_forward<T>(space, none.read(), labels, T(1), none.flat(),
                                            ScalarView<T>(&loss));
  EXPECT_EQ(loss, T(0)) << "a sum over no rows";
  kernels::correct_count<T>(space, none.read(), labels, Vector<std::int32_t>(nullptr, 0),
                            ScalarView<std::int64_t>(&hits));
  EXPECT_EQ(hits, 0);
}

/// Rows, their labels, and what the two kernels make of them.
template <class T>
struct Rows {
  explicit Rows(HostMatrix<T> values)
      : logits(std::move(values)),
        row_losses(1, logits.rows()),
        gradient(logits.rows(), logits.columns()) {
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
      labels.push_back(static_cast<std::int32_t>(i * 7 % logits.columns()));
    }
  }

  T forward(T scale) {
    T loss = not_a_number<T>;
    kernels::softmax_cross_entropy_forward<T>(ExecutionSpace(), logits.read(), label_view(), scale,
                                              row_losses.flat(), ScalarView<T>(&loss));
    return loss;
  }

  void backward(T upstream, T scale) {
    gradient.fill(not_a_number<T>);
    kernels::softmax_cross_entropy_backward<T>(ExecutionSpace(), logits.read(), label_view(),
                                               ScalarView<const T>(&upstream), scale, T(0),
                                               gradient.view());
  }

  Vector<const std::int32_t> label_view() const {
    return Vector<const std::int32_t>(labels.data(), labels.size());
  }

  HostMatrix<T> logits;
  std::vector<std::int32_t> labels;
  HostMatrix<T> row_losses;
  HostMatrix<T> gradient;
};

TYPED_TEST(Kernels, SoftmaxCrossEntropyIsTheLogOfTheShare) {
  using T = TypeParam;
  for (const std::int64_t count : {1, 2, 3, 100, 1000}) {
    Rows<T> rows(HostMatrix<T>(count, 10, 1));
    const T scale = T(1) / static_cast<T>(count);
    const T loss = rows.forward(scale);
    rows.backward(T(2), scale);
    Real total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t label = rows.labels[static_cast<std::size_t>(i)];
      Real sum = 0;
      for (std::int64_t j = 0; j < 10; ++j) sum += std::exp(Real(rows.logits(i, j)));
      total += std::log(sum) - rows.logits(i, label);
      for (std::int64_t j = 0; j < 10; ++j) {
        const Real share = std::exp(Real(rows.logits(i, j))) / sum - (j == label ? 1 : 0);
        ASSERT_NEAR(rows.gradient(i, j), static_cast<double>(2 * Real(scale) * share),
                    16 * epsilon<T> * scale);
      }
    }
    EXPECT_NEAR(loss, static_cast<double>(total * Real(scale)), 16 * epsilon<T>);
  }
}

TYPED_TEST(Kernels, SoftmaxCrossEntropyTakesLargeLogits) {
  using T = TypeParam;
  HostMatrix<T> values(2, 3);
  values.fill(T(1e30));
  values(0, 0) = T(-1e30);
  values(1, 0) = T(1e30);
  Rows<T> rows(values);
  rows.labels = {1, 0};
  EXPECT_NEAR(rows.forward(T(1)), std::log(2.0) + std::log(3.0), 8 * epsilon<T>);
  rows.backward(T(1), T(1));
  EXPECT_EQ(rows.gradient(0, 0), T(0));
  EXPECT_NEAR(rows.gradient(0, 1), -0.5, epsilon<T>);
}

TYPED_TEST(Kernels, SoftmaxCrossEntropyShowsANanOfAnyPlace) {
  using T = TypeParam;
  for (std::int64_t column = 0; column < 10; ++column) {
    HostMatrix<T> values(5, 10, 1);
    values(3, column) = not_a_number<T>;
    Rows<T> rows(values);
    EXPECT_TRUE(std::isnan(rows.forward(T(1)))) << "column " << column;
  }
}

TYPED_TEST(Kernels, CorrectCountTakesTheFirstOfEqualsAndNoNan) {
  using T = TypeParam;
  HostMatrix<T> logits(4, 3);
  logits.fill(T(0));
  logits(0, 2) = T(1);
  logits(3, 0) = not_a_number<T>;
  const std::vector<std::int32_t> labels{2, 0, 1, 0};
  std::vector<std::int32_t> hits(4);
  std::int64_t count = -1;
  kernels::correct_count<T>(ExecutionSpace(), logits.read(),
                            Vector<const std::int32_t>(labels.data(), 4),
                            Vector<std::int32_t>(hits.data(), 4), ScalarView<std::int64_t>(&count));
  EXPECT_EQ(count, 2) << "row 0, and row 1 where all are equal";
}

TYPED_TEST(Kernels, AdamWUpdateFollowsItsFormula) {
  using T = TypeParam;
  const kernels::AdamWStep step{.learning_rate = 0.01,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .epsilon = 1e-8,
                                .weight_decay = 0.1,
                                .bias_correction1 = 0.19,
                                .bias_correction2 = 0.001999};
  constexpr std::int64_t count = 1003;
  const HostMatrix<T> p(1, count, 1);
  const HostMatrix<T> g(1, count, 2);
  const HostMatrix<T> m(1, count, 3);
  HostMatrix<T> v(1, count, 4);
  for (std::int64_t i = 0; i < count; ++i) v(0, i) = std::abs(v(0, i));
  HostMatrix<T> new_p = p;
  HostMatrix<T> new_m = m;
  HostMatrix<T> new_v = v;
  kernels::adamw_update<T>(ExecutionSpace(), step, new_p.flat(), g.flat(), new_m.flat(),
                           new_v.flat());
  for (std::int64_t i = 0; i < count; ++i) {
    const Real mean = 0.9L * m(0, i) + 0.1L * g(0, i);
    const Real square = 0.999L * v(0, i) + 0.001L * g(0, i) * g(0, i);
    const Real change = mean / 0.19L / (std::sqrt(square / 0.001999L) + 1e-8L) + 0.1L * p(0, i);
    ASSERT_NEAR(new_m(0, i), static_cast<double>(mean), 4 * epsilon<T>);
    ASSERT_NEAR(new_v(0, i), static_cast<double>(square), 4 * epsilon<T>);
    ASSERT_NEAR(new_p(0, i), static_cast<double>(p(0, i) - 0.01L * change), 16 * epsilon<T>);
  }
}

TYPED_TEST(Kernels, SgdUpdateFollowsItsFormula) {
  using T = TypeParam;
  for (const bool nesterov : {false, true}) {
    const HostMatrix<T> p(1, 101, 1);
    const HostMatrix<T> g(1, 101, 2);
    const HostMatrix<T> velocity(1, 101, 3);
    HostMatrix<T> new_p = p;
    HostMatrix<T> new_velocity = velocity;
    kernels::sgd_momentum_update<T>(ExecutionSpace(),
                                    {.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov},
                                    new_p.flat(), g.flat(), new_velocity.flat());
    for (std::int64_t i = 0; i < 101; ++i) {
      const Real moved = 0.9L * velocity(0, i) + g(0, i);
      const Real change = nesterov ? 0.9L * moved + g(0, i) : moved;
      ASSERT_NEAR(new_velocity(0, i), static_cast<double>(moved), 4 * epsilon<T>);
      ASSERT_NEAR(new_p(0, i), static_cast<double>(p(0, i) - 0.1L * change), 4 * epsilon<T>);
    }
  }
}

TYPED_TEST(Kernels, AllocateNothing) {
  using T = TypeParam;
  Rows<T> rows(HostMatrix<T>(64, 10, 1));
  HostMatrix<T> y(64, 10);
  const test::CountAllocations allocations;
  rows.forward(T(1));
  rows.backward(T(1), T(1));
  kernels::gelu_forward<T>(ExecutionSpace(), GeluForm::tanh, rows.logits.read(), y.view());
  kernels::sum_rows<T>(ExecutionSpace(), y.read(), T(0), rows.row_losses.flat());
  EXPECT_EQ(allocations.so_far(), 0);
}

}  // namespace

}  // namespace kolam::testing

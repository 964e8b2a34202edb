// Every backend against sums in double precision, over transposes, betas, odd extents and strides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <kolam/core/error.hpp>
#include <kolam/core/kernels/gemm.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "matrices.hpp"
#include "support/kokkos_events.hpp"

namespace kolam::testing {

namespace {

using kernels::Gemm;
using kernels::GemmBackend;
using kernels::Transpose;
using ::testing::HasSubstr;

template <class T, GemmBackend B>
struct Case {
  using type = T;
  static constexpr GemmBackend backend = B;
};

template <class C>
class GemmBackends : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const GemmBackend backend : kernels::available_gemm_backends()) {
      if (backend == C::backend) return;
    }
    GTEST_SKIP() << "this build lacks " << kernels::name_of(C::backend);
  }
};

using Cases =
    ::testing::Types<Case<float, GemmBackend::kokkos_kernels>, Case<float, GemmBackend::onednn>,
                     Case<double, GemmBackend::kokkos_kernels>>;
TYPED_TEST_SUITE(GemmBackends, Cases);

struct Product {
  std::int64_t m, n, k;
  Transpose a = Transpose::no;
  Transpose b = Transpose::no;
  double alpha = 1;
  double beta = 0;
  /// Further apart than their length are the rows, by so many elements.
  std::int64_t padding = 0;
};

std::ostream& operator<<(std::ostream& stream, const Product& p) {
  return stream << p.m << " x " << p.n << " x " << p.k << (p.a == Transpose::yes ? " T" : " N")
                << (p.b == Transpose::yes ? "T" : "N") << " alpha " << p.alpha << " beta " << p.beta
                << " padding " << p.padding;
}

template <class T>
HostMatrix<T> stored(std::int64_t rows, std::int64_t columns, Transpose transpose,
                     std::uint32_t seed, std::int64_t padding) {
  return transpose == Transpose::yes ? HostMatrix<T>(columns, rows, seed, padding)
                                     : HostMatrix<T>(rows, columns, seed, padding);
}

template <class T>
double at(const HostMatrix<T>& matrix, Transpose transpose, std::int64_t i, std::int64_t j) {
  return transpose == Transpose::yes ? matrix(j, i) : matrix(i, j);
}

template <class T>
void multiply(Gemm& gemm, const Product& p, const HostMatrix<T>& a, const HostMatrix<T>& b,
              HostMatrix<T>& c) {
  gemm(ExecutionSpace(), p.a, p.b, static_cast<T>(p.alpha), a.view(), b.view(),
       static_cast<T>(p.beta), c.view());
}

/// Each element may be off by the rounding of a sum of k products (Higham, Accuracy and Stability
/// of Numerical Algorithms, 2002, section 3.5: |error| <= k u |a| |b|) and of the beta term.
template <class T>
void expect_product(Gemm& gemm, const Product& p) {
  SCOPED_TRACE(::testing::Message() << p);
  const auto a = stored<T>(p.m, p.k, p.a, 1, p.padding);
  const auto b = stored<T>(p.k, p.n, p.b, 2, p.padding);
  HostMatrix<T> before(p.m, p.n, 3, p.padding);
  if (p.beta == 0) before.fill(std::numeric_limits<T>::quiet_NaN());
  HostMatrix<T> c = before;
  multiply(gemm, p, a, b, c);
  const double unit = std::numeric_limits<T>::epsilon() / 2;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      double size = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        sum += at(a, p.a, i, l) * at(b, p.b, l, j);
        size += std::abs(at(a, p.a, i, l) * at(b, p.b, l, j));
      }
      const double kept = p.beta == 0 ? 0 : p.beta * static_cast<double>(before(i, j));
      const double bound =
          static_cast<double>(p.k + 3) * unit * (std::abs(p.alpha) * size + std::abs(kept));
      ASSERT_NEAR(c(i, j), p.alpha * sum + kept, bound) << i << ", " << j;
    }
  }
}

TYPED_TEST(GemmBackends, AreWithinTheBoundOfRounding) {
  Gemm gemm(TypeParam::backend);
  for (const Transpose a : {Transpose::no, Transpose::yes}) {
    for (const Transpose b : {Transpose::no, Transpose::yes}) {
      for (const double beta : {0.0, 1.0, 0.5}) {
        expect_product<typename TypeParam::type>(
            gemm, {.m = 37, .n = 29, .k = 53, .a = a, .b = b, .beta = beta});
        expect_product<typename TypeParam::type>(
            gemm,
            {.m = 65, .n = 90, .k = 70, .a = a, .b = b, .alpha = 2, .beta = beta, .padding = 5});
        expect_product<typename TypeParam::type>(
            gemm,
            {.m = 16, .n = 10, .k = 33, .a = a, .b = b, .alpha = -0.5, .beta = beta, .padding = 3});
      }
    }
  }
}

TYPED_TEST(GemmBackends, TakeThinAndSingleExtents) {
  Gemm gemm(TypeParam::backend);
  const std::int64_t extents[] = {1, 2, 17};
  for (const std::int64_t m : extents) {
    for (const std::int64_t n : extents) {
      for (const std::int64_t k : extents) {
        for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
          expect_product<typename TypeParam::type>(
              gemm, {.m = m, .n = n, .k = k, .a = transpose, .b = transpose, .beta = 1});
        }
      }
    }
  }
}

TYPED_TEST(GemmBackends, TreatNoElementsAsEmptySums) {
  using T = typename TypeParam::type;
  Gemm gemm(TypeParam::backend);
  expect_product<T>(gemm, {.m = 0, .n = 3, .k = 2});
  expect_product<T>(gemm, {.m = 3, .n = 0, .k = 2});
  expect_product<T>(gemm, {.m = 3, .n = 2, .k = 0});
  expect_product<T>(gemm, {.m = 3, .n = 2, .k = 0, .beta = 0.5});
}

TYPED_TEST(GemmBackends, RepeatBitForBitAndAllocateNothingAgain) {
  using T = typename TypeParam::type;
  Gemm gemm(TypeParam::backend);
  const Product p{.m = 65, .n = 130, .k = 70};
  const auto a = stored<T>(p.m, p.k, p.a, 1, 0);
  const auto b = stored<T>(p.k, p.n, p.b, 2, 0);
  HostMatrix<T> first(p.m, p.n);
  multiply(gemm, p, a, b, first);
  const test::CountAllocations allocations;
  for (int repeat = 0; repeat < 10; ++repeat) {
    HostMatrix<T> again(p.m, p.n, 9);
    multiply(gemm, p, a, b, again);
    EXPECT_TRUE(again == first);
  }
  EXPECT_EQ(allocations.so_far(), 0);
}

TYPED_TEST(GemmBackends, UseParametersManyTimesAndSeeTheirNewValues) {
  using T = typename TypeParam::type;
  Gemm gemm(TypeParam::backend);
  const Product p{.m = 40, .n = 70, .k = 50};
  const auto a = stored<T>(p.m, p.k, p.a, 1, 0);
  auto b = stored<T>(p.k, p.n, p.b, 2, 0);
  const auto expect = [&](const HostMatrix<T>& c) {
    HostMatrix<T> expected(p.m, p.n);
    multiply(gemm, p, a, b, expected);
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        ASSERT_NEAR(c(i, j), expected(i, j), 200 * std::numeric_limits<T>::epsilon());
      }
    }
  };
  for (int step = 0; step < 3; ++step) {
    b(3, 4) = static_cast<T>(step);
    const Gemm::KeepConstants keep(gemm);
    for (int use = 0; use < 4; ++use) {
      HostMatrix<T> c(p.m, p.n, 5);
      const std::int64_t rows = use == 3 ? p.m - 7 : p.m;
      const auto top = [&](const auto& view) {
        return Kokkos::subview(view, std::pair(std::size_t{0}, static_cast<std::size_t>(rows)),
                               Kokkos::ALL);
      };
      gemm.template with_parameters<T>(ExecutionSpace(), p.a, p.b, T(1),
                                       Matrix<const T>(top(a.view())), b.read(), T(0),
                                       Matrix<T>(top(c.view())));
      if (use < 3) expect(c);
    }
  }
}

TYPED_TEST(GemmBackends, CarryNanAndInfinity) {
  using T = typename TypeParam::type;
  Gemm gemm(TypeParam::backend);
  const Product p{.m = 20, .n = 20, .k = 20};
  auto a = stored<T>(p.m, p.k, p.a, 1, 0);
  auto b = stored<T>(p.k, p.n, p.b, 2, 0);
  b.fill(1);
  a(3, 4) = std::numeric_limits<T>::quiet_NaN();
  a(5, 6) = std::numeric_limits<T>::infinity();
  HostMatrix<T> c(p.m, p.n);
  multiply(gemm, p, a, b, c);
  for (std::int64_t j = 0; j < p.n; ++j) {
    EXPECT_TRUE(std::isnan(c(3, j)));
    EXPECT_EQ(c(5, j), std::numeric_limits<T>::infinity());
    EXPECT_TRUE(std::isfinite(c(4, j)));
  }
}

TYPED_TEST(GemmBackends, WorkOnTwoThreadsAtOnce) {
  using T = typename TypeParam::type;
  const Product p{.m = 64, .n = 48, .k = 80};
  const auto a = stored<T>(p.m, p.k, p.a, 1, 0);
  const auto b = stored<T>(p.k, p.n, p.b, 2, 0);
  HostMatrix<T> expected(p.m, p.n);
  Gemm alone(TypeParam::backend);
  multiply(alone, p, a, b, expected);
  std::vector<int> wrong(2);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      Gemm gemm(TypeParam::backend);
      for (int repeat = 0; repeat < 200; ++repeat) {
        HostMatrix<T> c(p.m, p.n, 7);
        multiply(gemm, p, a, b, c);
        if (!(c == expected)) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

TYPED_TEST(GemmBackends, RefuseExtentsThatDoNotFit) {
  using T = typename TypeParam::type;
  Gemm gemm(TypeParam::backend);
  const HostMatrix<T> a(4, 5);
  const HostMatrix<T> b(6, 3);
  HostMatrix<T> c(4, 3);
  try {
    multiply(gemm, {.m = 4, .n = 3, .k = 5}, a, b, c);
    FAIL() << "accepted";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a [4, 5] times b [6, 3] does not give c [4, 3]"));
  }
}

// A host program may have given its BLAS more threads before kolam's ranks set one.
TEST(Blas, GivesTheSameProductWithinRoundingOnOneAndTwoThreads) {
  using SetThreads = void(int);
  auto* const set_threads =
      reinterpret_cast<SetThreads*>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set_threads == nullptr) GTEST_SKIP() << "the BLAS is not OpenBLAS";
  const Product p{.m = 300, .n = 200, .k = 400};
  const auto a = stored<double>(p.m, p.k, p.a, 1, 0);
  const auto b = stored<double>(p.k, p.n, p.b, 2, 0);
  HostMatrix<double> on_one(p.m, p.n);
  HostMatrix<double> on_two(p.m, p.n);
  Gemm gemm(GemmBackend::kokkos_kernels);
  set_threads(2);
  multiply(gemm, p, a, b, on_two);
  set_threads(1);
  multiply(gemm, p, a, b, on_one);
  const double bound = 400 * 4 * std::numeric_limits<double>::epsilon();
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) ASSERT_NEAR(on_two(i, j), on_one(i, j), bound);
  }
}

TEST(GemmBackend, IsTheOneTheEnvironmentNames) {
  const char* const before = std::getenv("KOLAM_GEMM");
  const std::string kept = before == nullptr ? "" : before;
  setenv("KOLAM_GEMM", "kokkos-kernels", 1);
  EXPECT_EQ(kernels::choose_gemm_backend().backend, GemmBackend::kokkos_kernels);
  EXPECT_EQ(kernels::choose_gemm_backend().reason, "KOLAM_GEMM says so");
  setenv("KOLAM_GEMM", "cublas-of-old", 1);
  try {
    kernels::choose_gemm_backend();
    ADD_FAILURE() << "accepted";
  } catch (const ConfigurationError& error) {
    EXPECT_THAT(error.what(), HasSubstr("KOLAM_GEMM is \"cublas-of-old\"; this build has: "));
  }
  unsetenv("KOLAM_GEMM");
  const kernels::GemmChoice chosen = kernels::choose_gemm_backend();
  EXPECT_THAT(kernels::available_gemm_backends(), ::testing::Contains(chosen.backend));
  EXPECT_FALSE(chosen.reason.empty());
  if (before != nullptr) setenv("KOLAM_GEMM", kept.c_str(), 1);
}

}  // namespace

}  // namespace kolam::testing

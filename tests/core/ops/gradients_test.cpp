// Gradients of every operation against central differences in double precision, on one rank and
// through collectives on several.
#include <gtest/gtest.h>

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/dense.hpp>
#include <kolam/core/ops/dense_gelu_mix.hpp>
#include <kolam/core/ops/gelu.hpp>
#include <kolam/core/ops/relu.hpp>
#include <kolam/core/ops/residual_mix.hpp>
#include <kolam/core/ops/scale.hpp>
#include <kolam/core/ops/scan.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/random/normal.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/shard_map.hpp>

#include <cmath>

namespace {

using namespace kolam;

/// A bag of parameters to differentiate with respect to.
struct Inputs {
  Inputs(RankContext& context, std::vector<ParameterSpec> specs)
      : storage(context, std::move(specs), 7) {
    for (std::size_t i = 0; i < storage.specs().size(); ++i) {
      global.emplace_back();
      const std::int64_t count = storage.specs()[i].extents.count();
      for (std::int64_t j = 0; j < count; ++j) {
        global.back().push_back(0.8 * random::standard_normal(11, i, static_cast<unsigned>(j)));
      }
      set(i);
    }
  }
  Parameters<double>& parameters() { return storage; }
  void set(std::size_t index) {
    storage.assign(index, {global[index].data(), storage.specs()[index].extents});
  }

  template <class... Policies>
  auto matrix(std::size_t index) const {
    return storage.get<double**, Policies...>(index);
  }
  template <class... Policies>
  auto vector(std::size_t index) const {
    return storage.get<double*, Policies...>(index);
  }

  Parameters<double> storage;
  std::vector<std::vector<double>> global;
};

/// The loss as one number that all ranks have alike.
template <class T, Placement Where>
double number(const BasicArray<T, Where>& loss) {
  if constexpr (!Where.pending.empty()) {
    return value(psum<Where.pending>(loss));
  } else if constexpr (!Where.varying.empty()) {
    return value(pmean<Where.varying>(loss));
  } else {
    return value(loss);
  }
}

/// This rank's analytic gradient of one input, to compare with the loss of all ranks.
template <class State>
std::vector<double> resolved(const State& gradients, std::size_t index) {
  if constexpr (!State::placement.varying.empty()) {
    return pmean<State::placement.varying>(gradients).local_values(index);
  } else {
    return gradients.local_values(index);
  }
}

/// `loss(inputs)` returns a scalar Array; differences move every element of every input.
template <class Loss>
void expect_gradients_match(const Mesh& mesh, const std::vector<ParameterSpec>& specs, Loss loss) {
  Session session({.devices = mesh.size()});
  session.run(mesh, [&](Rank& rank) {
    Inputs inputs(rank, specs);
    const auto analytic = value_and_grad(inputs, [&] { return loss(rank, inputs); });
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto gradient = resolved(analytic.gradients, i);
      const NamedSharding sharding{rank.mesh(), specs[i].partition};
      const auto slices = sharding.slices(specs[i].extents, rank.rank());
      std::size_t local = 0;
      for (std::int64_t j = 0; j < specs[i].extents.count(); ++j) {
        double& element = inputs.global[i][static_cast<std::size_t>(j)];
        const double before = element;
        const double step = 1e-5;
        element = before + step;
        inputs.set(i);
        const double above = number(loss(rank, inputs));
        element = before - step;
        inputs.set(i);
        const double below = number(loss(rank, inputs));
        element = before;
        inputs.set(i);
        // Row-major position of element j in this rank's slice.
        const std::int64_t columns =
            specs[i].extents.dimensions() == 2 ? specs[i].extents[1] : specs[i].extents[0];
        const std::int64_t row = specs[i].extents.dimensions() == 2 ? j / columns : 0;
        const std::int64_t column = j % columns;
        const Slice row_slice = specs[i].extents.dimensions() == 2 ? slices[0] : Slice{0, 1};
        const Slice column_slice = specs[i].extents.dimensions() == 2 ? slices[1] : slices[0];
        const bool is_mine = row >= row_slice.begin && row < row_slice.begin + row_slice.length &&
                             column >= column_slice.begin &&
                             column < column_slice.begin + column_slice.length;
        if (!is_mine) continue;
        EXPECT_NEAR(gradient[local], (above - below) / (2 * step), 2e-9)
            << specs[i].name << "[" << j << "] on rank " << rank.rank();
        ++local;
      }
      EXPECT_EQ(local, gradient.size());
    }
  });
}

ParameterSpec spec(const char* name, Extents extents, PartitionSpec partition = {}) {
  return {name, extents, Start::zeros, partition};
}

const std::vector<std::int32_t> label_values = {2, 0, 1, 3, 1, 2};

template <class Policy>
auto labels(RankContext& rank, std::int64_t rows) {
  return device_put<Policy>(rank, HostTensor<std::int32_t>{label_values.data(), {rows}});
}

const std::vector<ParameterSpec> dense_specs = {spec("x", {5, 3}), spec("w", {3, 4}),
                                                spec("b", {4})};

TEST(Gradients, OfDense) {
  expect_gradients_match(Mesh{}, dense_specs, [](Rank& rank, Inputs& in) {
    const auto y = ops::dense(in.matrix<P<>>(0), in.matrix<P<>>(1), in.vector<P<>>(2));
    return ops::softmax_cross_entropy(y, labels<P<none>>(rank, 5));
  });
}

TEST(Gradients, OfGeluInBothForms) {
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    expect_gradients_match(Mesh{}, {spec("z", {6, 4})}, [form](Rank& rank, Inputs& in) {
      return ops::softmax_cross_entropy(ops::gelu(in.matrix<P<>>(0), form),
                                        labels<P<none>>(rank, 6));
    });
  }
}

TEST(Gradients, OfRelu) {
  expect_gradients_match(Mesh{}, {spec("z", {6, 4})}, [](Rank& rank, Inputs& in) {
    return ops::softmax_cross_entropy(ops::relu(in.matrix<P<>>(0)), labels<P<none>>(rank, 6));
  });
}

TEST(Gradients, OfResidualMix) {
  expect_gradients_match(
      Mesh{}, {spec("h", {5, 4}), spec("update", {5, 4})}, [](Rank& rank, Inputs& in) {
        return ops::softmax_cross_entropy(
            ops::residual_mix(in.matrix<P<>>(0), in.matrix<P<>>(1), 0.3), labels<P<none>>(rank, 5));
      });
}

TEST(Gradients, OfScale) {
  expect_gradients_match(Mesh{}, {spec("x", {5, 4})}, [](Rank& rank, Inputs& in) {
    return ops::scale(
        ops::softmax_cross_entropy(ops::scale(in.matrix<P<>>(0), -1.7), labels<P<none>>(rank, 5)),
        0.5);
  });
}

TEST(Gradients, OfSoftmaxCrossEntropySum) {
  expect_gradients_match(Mesh{}, {spec("logits", {6, 4})}, [](Rank& rank, Inputs& in) {
    return ops::softmax_cross_entropy(in.matrix<P<>>(0), labels<P<none>>(rank, 6), Reduction::sum);
  });
}

const std::vector<ParameterSpec> block_specs = {spec("h", {5, 4}), spec("w", {4, 4}),
                                                spec("b", {4})};

TEST(Gradients, OfScanOverASharedBlock) {
  for (const GeluForm form : {GeluForm::tanh, GeluForm::exact}) {
    expect_gradients_match(Mesh{}, block_specs, [form](Rank& rank, Inputs& in) {
      const auto w = in.matrix<P<>>(1);
      const auto b = in.vector<P<>>(2);
      const auto h = ops::scan(in.matrix<P<>>(0), 5, [&](const auto& carry) {
        return ops::dense_gelu_mix(carry, w, b, 0.3, form);
      });
      return ops::softmax_cross_entropy(h, labels<P<none>>(rank, 5));
    });
  }
}

TEST(Gradients, OfAValueUsedTwice) {
  expect_gradients_match(Mesh{}, block_specs, [](Rank& rank, Inputs& in) {
    const auto h = ops::gelu(in.matrix<P<>>(0));
    const auto z = ops::dense(h, in.matrix<P<>>(1), in.vector<P<>>(2));
    return ops::softmax_cross_entropy(ops::residual_mix(ops::residual_mix(z, h, 0.4), z, 0.2),
                                      labels<P<none>>(rank, 5));
  });
}

/// The fused block and the composition of its parts are the same function.
TEST(DenseGeluMix, IsDenseThenGeluThenMix) {
  Session session({.devices = 1});
  session.run(Mesh{}, [&](Rank& rank) {
    Inputs in(rank, block_specs);
    const auto h = in.matrix<P<>>(0);
    const auto fused = gather(ops::dense_gelu_mix(h, in.matrix<P<>>(1), in.vector<P<>>(2), 0.3));
    const auto parts = gather(
        ops::residual_mix(h, ops::gelu(ops::dense(h, in.matrix<P<>>(1), in.vector<P<>>(2))), 0.3));
    for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_NEAR(fused[i], parts[i], 1e-15);
  });
}

/// Rows split over "data": parameters' gradients are pending sums until value_and_grad.
TEST(Gradients, OfABatchSplitUnevenlyOverThreeRanks) {
  const std::vector<double> x = [] {
    std::vector<double> values(15);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(1.0 + double(i));
    return values;
  }();
  expect_gradients_match(
      Mesh{{"data", 3}}, {spec("w", {3, 4}), spec("b", {4})}, [&x](Rank& rank, Inputs& in) {
        const auto images = device_put<P<"data", none>>(rank, HostTensor<double>{x.data(), {5, 3}});
        return ops::softmax_cross_entropy(
            ops::gelu(ops::dense(images, in.matrix<P<>>(0), in.vector<P<>>(1))),
            labels<P<"data">>(rank, 5));
      });
}

/// Column-split, then row-split weights over "model", with the batch split over "data".
TEST(Gradients, ThroughColumnSplitAndRowSplitWeights) {
  const std::vector<double> x = {0.3, -0.2, 0.9, 1.1, -0.7, 0.4, 0.2, 0.8, -1.3, 0.5, -0.1, 0.6};
  expect_gradients_match(
      Mesh{{"data", 2}, {"model", 2}},
      {spec("w0", {3, 3}), spec("b0", {3}), spec("w1", {3, 5}, {{}, {"model"}}),
       spec("b1", {5}, {{"model"}}), spec("w2", {5, 4}, {{"model"}, {}}), spec("b2", {4})},
      [&x](Rank& rank, Inputs& in) {
        const auto images = device_put<P<"data", none>>(rank, HostTensor<double>{x.data(), {4, 3}});
        const auto h0 = ops::gelu(ops::dense(images, in.matrix<P<>>(0), in.vector<P<>>(1)));
        const auto h1 =
            ops::gelu(ops::dense(h0, in.matrix<P<none, "model">>(2), in.vector<P<"model">>(3)));
        static_assert(decltype(h1)::placement == placement_of<P<"data", "model">>);
        const auto y = ops::dense(h1, in.matrix<P<"model", none>>(4), in.vector<P<>>(5));
        return ops::softmax_cross_entropy(y, labels<P<"data">>(rank, 4));
      });
}

/// psum of a varying value that goes back into a varying one, as for statistics over the batch.
TEST(Gradients, ThroughPsumAndPmeanInsideShardMap) {
  const std::vector<double> x = {0.3, -0.2, 0.9, 1.1, -0.7, 0.4, 0.2, 0.8, -1.3, 0.5, -0.1, 0.6};
  for (const bool is_mean : {false, true}) {
    expect_gradients_match(
        Mesh{{"data", 2}}, {spec("w", {3, 4}), spec("b", {4}), spec("v", {4, 4})},
        [&x, is_mean](Rank& rank, Inputs& in) {
          const auto images =
              device_put<P<"data", none>>(rank, HostTensor<double>{x.data(), {4, 3}});
          const auto local_images = kolam::detail::relabel<placement_of<P<>, Varying<"data">>>(
              images, images.local_extents());
          const auto y = labels<P<"data">>(rank, 4);
          const auto local_labels =
              kolam::detail::relabel<placement_of<P<>, Varying<"data">>>(y, y.local_extents());
          const auto h = ops::dense(local_images, in.matrix<P<>>(0), in.vector<P<>>(1));
          const auto shared = is_mean ? pmean<"data">(h) : psum<"data">(h);
          // `bent` does not vary, and meets a value that does.
          const auto bent = ops::gelu(ops::dense(shared, in.matrix<P<>>(2), in.vector<P<>>(1)));
          const auto z = ops::residual_mix(h, bent, 0.4);
          static_assert(decltype(z)::placement.varying == Axes("data"));
          return ops::softmax_cross_entropy(z, local_labels);
        });
  }
}

}  // namespace

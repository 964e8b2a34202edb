// Training at the edges: batches smaller than the number of ranks, empty batches, labels that are
// no class, starts that depend on the seed only, and labels of kernels and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/accuracy.hpp>
#include <kolam/core/ops/relu.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/core/optim/sgd.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/shard_map.hpp>

#include "support/kokkos_events.hpp"

#include <cmath>

namespace {

using namespace kolam;
using testing::HasSubstr;

template <class T>
using Model = models::SharedBlockMlp<models::DataParallel, T>;

const models::SharedBlockMlpOptions small = {
    .inputs = 12, .width = 16, .classes = 10, .repeats = 3, .seed = 5};

struct Samples {
  explicit Samples(std::int64_t count) : rows(count) {
    for (std::int64_t i = 0; i < count * 12; ++i) {
      images.push_back(0.5 + 0.5 * std::sin(0.7 * static_cast<double>(i)));
    }
    for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  }
  HostTensor<double> batch(std::int64_t begin, std::int64_t count) const {
    return {images.data() + begin * 12, {count, 12}};
  }
  HostTensor<std::int32_t> batch_labels(std::int64_t begin, std::int64_t count) const {
    return {labels.data() + begin, {count}};
  }
  std::int64_t rows;
  std::vector<double> images;
  std::vector<std::int32_t> labels;
};

struct Outcome {
  std::vector<double> losses;
  std::vector<double> parameters;
};

template <class Values>
void append(std::vector<double>& all, const Values& values) {
  all.insert(all.end(), values.begin(), values.end());
}

/// All samples in batches of `global_batch`; the last one is smaller.
Outcome train(int devices, const Samples& samples, std::int64_t global_batch) {
  Outcome outcome;
  Session session({.devices = devices});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    Model<double> model(rank, small);
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
    for (std::int64_t begin = 0; begin < samples.rows; begin += global_batch) {
      const std::int64_t count = std::min(global_batch, samples.rows - begin);
      const auto x = device_put<P<"data", none>>(rank, samples.batch(begin, count));
      const auto y = device_put<P<"data">>(rank, samples.batch_labels(begin, count));
      const auto [loss, gradients] =
          value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
      optimizer.update(gradients);
      if (rank.rank() == 0) outcome.losses.push_back(value(loss));
    }
    if (rank.rank() != 0) return;
    for (std::size_t i = 0; i < 6; ++i)
      append(outcome.parameters, model.parameters().local_values(i));
  });
  return outcome;
}

TEST(LastBatch, MayBeSmallerThanTheNumberOfRanks) {
  const Samples samples(9);
  const Outcome one = train(1, samples, 8);
  const Outcome four = train(4, samples, 8);
  ASSERT_EQ(one.losses.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(four.losses[i], one.losses[i], 1e-13);
  ASSERT_EQ(one.parameters.size(), four.parameters.size());
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    ASSERT_TRUE(std::isfinite(four.parameters[i]));
    EXPECT_NEAR(four.parameters[i], one.parameters[i], 1e-9);
  }
}

TEST(EmptyBatch, HasLossZeroAndZeroGradients) {
  const Samples samples(1);
  Session session({.devices = 2});
  session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
    Model<double> model(rank, small);
    const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 0));
    const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 0));
    const auto [loss, gradients] =
        value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
    EXPECT_EQ(value(loss), 0.0);
    for (std::size_t i = 0; i < 6; ++i) {
      for (const double g : gradients.local_values(i)) EXPECT_EQ(g, 0.0);
    }
    EXPECT_EQ(value(psum<"data">(ops::accuracy(model(x), y))), 0.0);
    EXPECT_EQ(value(psum<"data">(ops::correct_count(model(x), y))), 0);
  });
}

TEST(EmptySlice, HasAFiniteLocalMeanInsideShardMap) {
  const Samples samples(1);
  Session session({.devices = 2});
  session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
    Model<double> model(rank, small);
    auto loss_of = shard_map<In<P<>, P<"data", none>, P<"data">>, Out<P<>>>(
        rank, [](auto& m, const auto& x, const auto& y) {
          return psum<"data">(ops::softmax_cross_entropy(m(x), y));
        });
    const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 1));
    const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 1));
    EXPECT_TRUE(std::isfinite(value(loss_of(model, x, y))));
  });
}

TEST(Layers, WithoutOutputsAreRefused) {
  RankContext rank;
  auto options = small;
  options.width = 0;
  EXPECT_THROW(Model<float>(rank, options), ConfigurationError);
  EXPECT_THROW(Parameters<float>(rank, {{"w", {3, 0}}}, 1), ShapeError);
}

TEST(Labels, BeyondTheClassesAreRefusedWithBothNumbers) {
  const Samples samples(10);
  RankContext rank;
  auto options = small;
  options.classes = 9;
  Model<double> model(rank, options);
  const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 10));
  const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 10));
  try {
    ops::softmax_cross_entropy(model(x), y);
    FAIL() << "label 9 of 9 classes was accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("label 9 of this rank is 9, but the logits have 9 classes"));
  }
}

TEST(Labels, FewerThanTheClassesAreAccepted) {
  const Samples samples(10);
  RankContext rank;
  auto options = small;
  options.classes = 12;
  Model<double> model(rank, options);
  const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 10));
  const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 10));
  EXPECT_TRUE(std::isfinite(value(psum<"data">(ops::softmax_cross_entropy(model(x), y)))));
  EXPECT_LE(value(psum<"data">(ops::correct_count(model(x), y))), 10);
}

TEST(Shapes, ThatDoNotFitAreNamedWithBothTypes) {
  const Samples samples(10);
  RankContext rank;
  auto options = small;
  options.inputs = 20;
  Model<double> model(rank, options);
  const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 10));
  try {
    model(x);
    FAIL() << "12 columns met 20 rows";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "dense: x is f64[10@data, 12] and w is f64[20, 16]: x has 12 columns, w has 20 "
                 "rows; make them equal");
  }
}

TEST(Start, DependsOnTheSeedOnly) {
  const auto start_on = [](int devices, std::uint64_t seed) {
    std::string digest;
    Session session({.devices = devices});
    session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
      auto options = small;
      options.seed = seed;
      Model<float> model(rank, options);
      if (rank.rank() == devices - 1) digest = model.parameters().digest();
    });
    return digest;
  };
  EXPECT_EQ(start_on(1, 5), start_on(3, 5));
  EXPECT_NE(start_on(1, 5), start_on(1, 6));
}

TEST(Start, OfASplitParameterIsTheSliceOfTheWhole) {
  const std::vector<ParameterSpec> whole = {{"w", {6, 4}, Start::he_normal}};
  RankContext alone;
  const auto expected = Parameters<double>(alone, whole, 3).local_values(0);
  RankContext second(Mesh{{"model", 2}}, 1);
  const Parameters<double> split(second, {{"w", {6, 4}, Start::he_normal, {{}, {"model"}}}}, 3);
  const auto found = split.local_values(0);
  ASSERT_EQ(found.size(), 12u);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 2; ++column) {
      EXPECT_EQ(found[row * 2 + column], expected[row * 4 + 2 + column]);
    }
  }
}

TEST(Start, IsNormalWithTheVarianceOfHe) {
  RankContext rank;
  const auto values =
      Parameters<double>(rank, {{"w", {200, 500}, Start::he_normal}}, 1).local_values(0);
  double sum = 0;
  double squares = 0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<double>(values.size());
  // Variance 2 / 200; bounds at five standard errors of the estimates.
  EXPECT_NEAR(sum / n, 0.0, 5 * std::sqrt(0.01 / n));
  EXPECT_NEAR(squares / n, 0.01, 5 * 0.01 * std::sqrt(2 / n));
}

/// One step by hand from the gradient that value_and_grad returns.
TEST(SGD, WithMomentumFollowsItsFormula) {
  const Samples samples(4);
  for (const bool nesterov : {false, true}) {
    RankContext rank;
    Model<double> model(rank, small);
    optim::SGD optimizer(model.parameters(),
                         {.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov});
    const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 4));
    const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 4));
    std::vector<double> velocity(12 * 16, 0.0);
    for (int step = 0; step < 3; ++step) {
      const auto before = model.parameters().local_values(0);
      const auto [loss, gradients] =
          value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
      const auto g = gradients.local_values(0);
      optimizer.update(gradients);
      const auto after = model.parameters().local_values(0);
      for (std::size_t i = 0; i < g.size(); ++i) {
        velocity[i] = 0.9 * velocity[i] + g[i];
        const double direction = nesterov ? g[i] + 0.9 * velocity[i] : velocity[i];
        EXPECT_NEAR(after[i], before[i] - 0.1 * direction, 1e-15);
      }
    }
  }
}

TEST(Adam, IsAdamWWithoutDecay) {
  const Samples samples(4);
  const auto run = [&](auto make_optimizer) {
    RankContext rank;
    Model<double> model(rank, small);
    auto optimizer = make_optimizer(model.parameters());
    const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 4));
    const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 4));
    const auto [loss, gradients] =
        value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
    optimizer.update(gradients);
    return model.parameters().digest();
  };
  EXPECT_EQ(run([](auto& p) { return optim::Adam(p, {.learning_rate = 0.01}); }), run([](auto& p) {
              return optim::AdamW(p, {.learning_rate = 0.01, .weight_decay = 0.0});
            }));
}

TEST(Optimizers, RefuseNonsense) {
  RankContext rank;
  Model<float> model(rank, small);
  EXPECT_THROW(optim::AdamW(model.parameters(), {.learning_rate = -1}), ConfigurationError);
  EXPECT_THROW(optim::AdamW(model.parameters(), {.learning_rate = std::nan("")}),
               ConfigurationError);
  EXPECT_THROW(optim::AdamW(model.parameters(), {.beta1 = 1.0}), ConfigurationError);
  EXPECT_THROW(optim::SGD(model.parameters(), {.momentum = 1.5}), ConfigurationError);
}

TEST(Labels, OfKernelsAndMemoryNameKolam) {
  const Samples samples(4);
  const test::CollectLabels labels;
  RankContext rank;
  Model<double> model(rank, small);
  optim::AdamW optimizer(model.parameters(), {});
  const auto x = device_put<P<"data", none>>(rank, samples.batch(0, 4));
  const auto y = device_put<P<"data">>(rank, samples.batch_labels(0, 4));
  const auto [loss, gradients] =
      value_and_grad(model, [&] { return ops::softmax_cross_entropy(ops::relu(model(x)), y); });
  optimizer.update(gradients);
  ops::accuracy(model(x), y);
  EXPECT_GT(labels.kernels().size(), 10u);
  EXPECT_GT(labels.views().size(), 10u);
  EXPECT_THAT(labels.kernels(), testing::Each(testing::StartsWith("kolam::")));
  EXPECT_THAT(labels.views(), testing::Each(testing::StartsWith("kolam::")));
}

}  // namespace

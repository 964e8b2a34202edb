// The shared-block MLP against published values: losses, gradients and parameters of three steps,
// on one device and on several, automatically and explicitly.
#include <gtest/gtest.h>

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/accuracy.hpp>
#include <kolam/core/ops/scale.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/shard_map.hpp>

#include "support/reference_case.hpp"

namespace {

using namespace kolam;
using test::ReferenceCase;
using test::relative_error;

/// How a step turns the ranks' gradients into one.
enum class Path { automatic, explicit_mean, explicit_sum };

struct Observed {
  std::vector<double> losses;
  std::vector<double> gradients0;
  std::int64_t correct0 = 0;
  std::vector<double> logits0;
  std::vector<double> parameters1;
  std::vector<double> parameters3;
  std::vector<double> first_moment3;
  std::vector<double> second_moment3;
  std::string digest;
};

constexpr const char* names[] = {"w_in", "b_in", "w_block", "b_block", "w_out", "b_out"};

template <class Source>
std::vector<double> all_values(const Source& source) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const auto values = source.local_values(i);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

template <class T>
std::vector<double> moment_values(const Parameters<T>& parameters, const Vector<T>& flat) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const T* begin = flat.data() + parameters.offset(i);
    all.insert(all.end(), begin, begin + parameters.specs()[i].extents.count());
  }
  return all;
}

std::vector<double> expected_values(const ReferenceCase& reference, const std::string& prefix,
                                    const std::string& type) {
  std::vector<double> all;
  for (const char* name : names) {
    const auto values = reference.values(prefix + "." + name, type);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

template <class T>
void start_from_reference(Parameters<T>& parameters, const ReferenceCase& reference) {
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const auto values = reference.values(std::string("p0.") + names[i], "f32");
    const std::vector<T> typed(values.begin(), values.end());
    parameters.assign(i, {typed.data(), parameters.specs()[i].extents});
  }
}

template <Path path, class Model, class X, class Y>
auto step(Rank& rank, Model& model, const X& x, const Y& y) {
  constexpr Reduction reduction = path == Path::explicit_sum ? Reduction::sum : Reduction::mean;
  const auto local_step = [](auto& network, const auto& images, const auto& labels) {
    return value_and_grad(
        network, [&] { return ops::softmax_cross_entropy(network(images), labels, reduction); });
  };
  if constexpr (path == Path::automatic) {
    const auto [loss, gradients] = local_step(model, x, y);
    return std::tuple(loss, gradients);
  } else {
    const auto global_batch = static_cast<double>(x.extents()[0]);
    auto mapped = shard_map<In<P<>, P<"data", none>, P<"data">>, Out<P<>, P<>>>(
        rank, [&](auto& network, const auto& images, const auto& labels) {
          const auto [loss, gradients] = local_step(network, images, labels);
          if constexpr (path == Path::explicit_mean) {
            return std::tuple(pmean<"data">(loss), pmean<"data">(gradients));
          } else {
            return std::tuple(ops::scale(psum<"data">(loss), 1 / global_batch),
                              ops::scale(psum<"data">(gradients), 1 / global_batch));
          }
        });
    return mapped(model, x, y);
  }
}

template <class T, Path path>
Observed train(const std::string& name, int devices) {
  const ReferenceCase reference(name);
  const std::int64_t batch = reference.integer("batch");
  const std::int64_t inputs = reference.integer("d_in");
  const auto images = reference.values("x", "f32");
  const std::vector<T> typed_images(images.begin(), images.end());
  const auto labels = reference.labels();

  Observed observed;
  Session session({.devices = devices});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    models::SharedBlockMlp<models::DataParallel, T> model(rank,
                                                          {.inputs = inputs,
                                                           .width = reference.integer("width"),
                                                           .classes = reference.integer("classes"),
                                                           .repeats = reference.integer("repeats"),
                                                           .mix = reference.scalar("mix")});
    start_from_reference(model.parameters(), reference);
    optim::AdamW optimizer(model.parameters(), {.learning_rate = reference.scalar("lr"),
                                                .weight_decay = reference.scalar("weight_decay")});
    for (int i = 0; i < 3; ++i) {
      const HostTensor<T> host_images{typed_images.data() + i * batch * inputs, {batch, inputs}};
      const HostTensor<std::int32_t> host_labels{labels.data() + i * batch, {batch}};
      const auto x = device_put<P<"data", none>>(rank, host_images);
      const auto y = device_put<P<"data">>(rank, host_labels);
      if (i == 0) {
        const auto logits = model(x);
        const auto hits = value(psum<"data">(ops::correct_count(logits, y)));
        const auto gathered = gather(logits);
        if (rank.rank() == 0) {
          observed.correct0 = hits;
          observed.logits0.assign(gathered.begin(), gathered.end());
        }
      }
      const auto [loss, gradients] = step<path>(rank, model, x, y);
      const double loss_value = static_cast<double>(value(loss));
      if (rank.rank() == 0) {
        observed.losses.push_back(loss_value);
        if (i == 0) observed.gradients0 = all_values(gradients);
      }
      optimizer.update(gradients);
      if (rank.rank() != 0) continue;
      if (i == 0) observed.parameters1 = all_values(model.parameters());
      if (i == 2) observed.parameters3 = all_values(model.parameters());
    }
    if (rank.rank() != 0) return;
    observed.first_moment3 = moment_values(model.parameters(), optimizer.first_moment().flat());
    observed.second_moment3 = moment_values(model.parameters(), optimizer.second_moment().flat());
    observed.digest = model.parameters().digest();
  });
  return observed;
}

void expect_double_matches(const std::string& name, const Observed& observed) {
  const ReferenceCase reference(name);
  constexpr double bound = 1e-9;
  ASSERT_EQ(observed.losses.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const double expected = reference.scalar("loss" + std::to_string(i) + "_f64");
    EXPECT_NEAR(observed.losses[static_cast<std::size_t>(i)], expected, bound * expected);
  }
  EXPECT_EQ(observed.correct0, reference.integer("correct0_f64"));
  EXPECT_LT(relative_error(observed.logits0, reference.values("logits0", "f64")), bound);
  EXPECT_LT(relative_error(observed.gradients0, expected_values(reference, "g0", "f64")), bound);
  EXPECT_LT(relative_error(observed.parameters1, expected_values(reference, "p1", "f64")), bound);
  EXPECT_LT(relative_error(observed.parameters3, expected_values(reference, "p3", "f64")), bound);
  if (!reference.has("m3.w_in", "f64")) return;
  EXPECT_LT(relative_error(observed.first_moment3, expected_values(reference, "m3", "f64")), bound);
  EXPECT_LT(relative_error(observed.second_moment3, expected_values(reference, "v3", "f64")),
            bound);
}

void expect_float_matches(const std::string& name, const Observed& observed) {
  const ReferenceCase reference(name);
  constexpr double bound = 2e-5;
  ASSERT_EQ(observed.losses.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const double expected = reference.scalar("loss" + std::to_string(i) + "_f64");
    EXPECT_NEAR(observed.losses[static_cast<std::size_t>(i)], expected, bound * expected);
  }
  EXPECT_LT(relative_error(observed.gradients0, expected_values(reference, "g0", "f64")), bound);
  EXPECT_LT(relative_error(observed.logits0, reference.values("logits0", "f64")), bound);
}

class Reference : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  int devices() const { return std::get<1>(GetParam()); }
  bool is_equal_slices() const { return devices() != 3; }
};

TEST_P(Reference, AutomaticDoubleMatches) {
  expect_double_matches(name(), train<double, Path::automatic>(name(), devices()));
}

TEST_P(Reference, AutomaticFloatMatches) {
  expect_float_matches(name(), train<float, Path::automatic>(name(), devices()));
}

TEST_P(Reference, ExplicitDoubleMatches) {
  // A mean of local means is the global mean for equal slices only.
  expect_double_matches(name(), is_equal_slices()
                                    ? train<double, Path::explicit_mean>(name(), devices())
                                    : train<double, Path::explicit_sum>(name(), devices()));
}

TEST_P(Reference, ExplicitFloatMatches) {
  expect_float_matches(name(), is_equal_slices()
                                   ? train<float, Path::explicit_mean>(name(), devices())
                                   : train<float, Path::explicit_sum>(name(), devices()));
}

TEST_P(Reference, RepeatedRunsGiveTheSameDigest) {
  const Observed first = train<float, Path::automatic>(name(), devices());
  const Observed second = train<float, Path::automatic>(name(), devices());
  EXPECT_EQ(first.digest.size(), 64u);
  EXPECT_EQ(first.digest, second.digest);
}

TEST_P(Reference, AutomaticAndExplicitGiveTheSameDigest) {
  if (!is_equal_slices()) GTEST_SKIP() << "slices are unequal";
  const Observed automatic = train<float, Path::automatic>(name(), devices());
  const Observed mapped = train<float, Path::explicit_mean>(name(), devices());
  EXPECT_EQ(automatic.digest, mapped.digest);
  EXPECT_EQ(automatic.losses, mapped.losses);
}

INSTANTIATE_TEST_SUITE_P(Cases, Reference,
                         testing::Combine(testing::Values("base", "fashion"),
                                          testing::Values(1, 2, 3, 4)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "On" +
                                  std::to_string(std::get<1>(test.param));
                         });

/// Half of a batch each, as two devices see it.
TEST(ReferenceShards, LocalMeansOfHalfABatchMatch) {
  const ReferenceCase reference("base");
  const std::int64_t half = reference.integer("batch") / 2;
  const std::int64_t inputs = reference.integer("d_in");
  const auto images = reference.values("x", "f32");
  const auto labels = reference.labels();
  Session session({.devices = 1});
  for (int shard = 0; shard < 2; ++shard) {
    session.run(Mesh{{"data", 1}}, [&](Rank& rank) {
      models::SharedBlockMlp<models::DataParallel, double> model(
          rank, {.inputs = inputs,
                 .width = reference.integer("width"),
                 .repeats = reference.integer("repeats"),
                 .mix = reference.scalar("mix")});
      start_from_reference(model.parameters(), reference);
      const auto x = device_put<P<"data", none>>(
          rank, HostTensor<double>{images.data() + shard * half * inputs, {half, inputs}});
      const auto y = device_put<P<"data">>(
          rank, HostTensor<std::int32_t>{labels.data() + shard * half, {half}});
      const auto [loss, gradients] = step<Path::automatic>(rank, model, x, y);
      const std::string number = std::to_string(shard);
      EXPECT_NEAR(value(loss), reference.scalar("loss0_shard" + number + "_f64"), 1e-9);
      EXPECT_LT(relative_error(all_values(gradients),
                               expected_values(reference, "g0_shard" + number, "f64")),
                1e-9);
    });
  }
}

}  // namespace

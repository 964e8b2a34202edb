// The training loop on any number of devices: every example counts once, one allreduce per step,
// and as much memory as was estimated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/optim/adamw.hpp>
#include <kolam/core/optim/sgd.hpp>
#include <kolam/models/memory_estimate.hpp>
#include <kolam/models/training.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/shard_map.hpp>
#include <kolam/parallel/trace.hpp>

#include <vector>

namespace {

using namespace kolam;
using models::DataParallel;
using testing::HasSubstr;

using Mlp = models::Mlp<DataParallel, double>;
using SharedBlock = models::SharedBlockMlp<DataParallel, double>;

/// Images of 3 x 4 pixels, bright where the label says; a network learns them in a few epochs.
data::Dataset bright_spots(std::int64_t count, std::int64_t first = 0) {
  data::IdxFile images{{count, 3, 4},
                       std::vector<std::uint8_t>(static_cast<std::size_t>(count * 12))};
  data::IdxFile labels{{count}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint8_t>((first + i * 7) % 10);
    labels.bytes.push_back(label);
    images.bytes[static_cast<std::size_t>(i * 12 + label)] = 255;
    images.bytes[static_cast<std::size_t>(i * 12 + 11)] = static_cast<std::uint8_t>(i * 37 % 200);
  }
  return data::Dataset(std::move(images), std::move(labels), "made up", 10);
}

struct Trained {
  std::vector<models::EpochReport> epochs;
  std::vector<std::int64_t> batch_examples;
  std::string digest;
};

Trained train(int devices, std::int64_t examples, std::int64_t global_batch, std::int64_t epochs) {
  const data::Dataset training = bright_spots(examples);
  const data::Dataset validation = bright_spots(23, 5);
  Trained result;
  Session session({.devices = devices});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    Mlp model(rank, {.inputs = 12, .hidden = {16}});
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
    models::fit<DataParallel>(
        rank, model, optimizer, training, validation,
        {.epochs = epochs, .global_batch = global_batch, .seed = 3},
        {.on_batch = [&](const auto& report) { result.batch_examples.push_back(report.examples); },
         .on_epoch = [&](const auto& report) { result.epochs.push_back(report); }});
    if (rank.rank() == 0) result.digest = model.parameters().digest();
  });
  return result;
}

TEST(Fit, LearnsAndReportsEveryEpochAndBatch) {
  const Trained result = train(2, 100, 32, 30);
  ASSERT_EQ(result.epochs.size(), 30U);
  EXPECT_EQ(result.batch_examples.size(), 30U * 4);
  EXPECT_EQ(result.batch_examples[3], 100) << "the last batch has 4";
  EXPECT_EQ(result.epochs.front().epoch, 1);
  EXPECT_LT(result.epochs.back().training.loss, 0.5 * result.epochs.front().training.loss);
  EXPECT_GT(result.epochs.back().validation.accuracy, 0.9);
  EXPECT_EQ(result.epochs.back().validation.examples, 23);
}

// 9 examples in batches of 4 leave 1 for the last batch, so most devices have none.
TEST(Fit, GivesTheSameMeansOnAnyNumberOfDevices) {
  const Trained one = train(1, 9, 4, 3);
  for (const int devices : {2, 3, 4}) {
    const Trained many = train(devices, 9, 4, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(many.epochs[i].training.loss, one.epochs[i].training.loss, 1e-9);
      EXPECT_NEAR(many.epochs[i].validation.loss, one.epochs[i].validation.loss, 1e-9);
      EXPECT_EQ(many.epochs[i].training.accuracy, one.epochs[i].training.accuracy);
      EXPECT_EQ(many.epochs[i].validation.accuracy, one.epochs[i].validation.accuracy);
    }
  }
}

TEST(Fit, RepeatsBitForBit) {
  EXPECT_EQ(train(3, 50, 16, 2).digest, train(3, 50, 16, 2).digest);
}

TEST(Fit, RefusesNonsenseAndALossThatIsNoNumber) {
  EXPECT_THROW(train(1, 9, 4, 0), ConfigurationError);
  EXPECT_THROW(train(1, 9, 0, 1), ConfigurationError);
  const data::Dataset training = bright_spots(32);
  Session session({.devices = 2});
  try {
    session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
      Mlp model(rank, {.inputs = 12, .hidden = {16}});
      optim::SGD optimizer(model.parameters(), {.learning_rate = 1e200});
      models::fit<DataParallel>(rank, model, optimizer, training, training,
                                {.epochs = 50, .global_batch = 8});
    });
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("training diverged: lower the learning rate"));
  }
}

TEST(Fit, IsTheSameWithBatchesPreparedAhead) {
  const data::Dataset dataset = bright_spots(70);
  std::vector<std::string> digests;
  for (const std::int64_t ahead : {0, 1, 5}) {
    Session session({.devices = 2});
    session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
      Mlp model(rank, {.inputs = 12, .hidden = {16}});
      optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
      models::fit<DataParallel>(rank, model, optimizer, dataset, dataset,
                                {.epochs = 3, .global_batch = 16, .ahead = ahead});
      if (rank.rank() == 0) digests.push_back(model.parameters().digest());
    });
  }
  EXPECT_EQ(digests[1], digests[0]);
  EXPECT_EQ(digests[2], digests[0]);
}

TEST(Evaluate, CountsEveryExampleOnce) {
  const data::Dataset dataset = bright_spots(11);
  for (const int devices : {1, 2, 3, 4}) {
    for (const std::int64_t batch : {1, 4, 5, 11, 100}) {
      Session session({.devices = devices});
      session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
        Mlp model(rank, {.inputs = 12, .hidden = {}});
        // Weights that copy the pixel of each class: every example is right.
        std::vector<double> weights(120);
        for (std::size_t i = 0; i < 10; ++i) weights[i * 10 + i] = 1;
        model.parameters().assign(0, {weights.data(), {12, 10}});
        const models::Evaluation result =
            models::evaluate<DataParallel>(rank, model, dataset, batch);
        EXPECT_EQ(result.examples, 11);
        EXPECT_EQ(result.accuracy, 1.0);
        EXPECT_NEAR(result.loss, std::log(std::exp(1.0) + 9) - 1, 1e-12);
      });
    }
  }
}

/// Labels of the collectives of one step of the shared-block MLP.
std::vector<std::string> collectives_of_a_step(std::int64_t repeats) {
  const data::Dataset dataset = bright_spots(8);
  const auto batches = data::stack_batches<double>(dataset, {.batches = 1, .batch = 8});
  std::vector<std::string> labels;
  Session session({.devices = 2});
  session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
    SharedBlock model(rank, {.inputs = 12, .width = 8, .repeats = repeats});
    const auto x = device_put<P<"data", none>>(rank, batches.images(0));
    const auto y = device_put<P<"data">>(rank, batches.labels(0));
    const CollectiveTrace trace(rank);
    value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
    if (rank.rank() != 0) return;
    for (const CollectiveRecord& record : trace.records()) {
      labels.push_back(record.label);
      EXPECT_EQ(record.kind, CollectiveKind::allreduce);
      EXPECT_EQ(record.group_size, 2);
      EXPECT_EQ(record.bytes, (model.parameters().flat_size() + 1) * 8);
      EXPECT_GE(record.seconds, 0);
    }
  });
  return labels;
}

TEST(AutomaticPath, MakesOneAllreducePerStepAlsoUnderScan) {
  const std::vector<std::string> one = {"gradients"};
  EXPECT_EQ(collectives_of_a_step(0), one);
  EXPECT_EQ(collectives_of_a_step(1), one);
  EXPECT_EQ(collectives_of_a_step(128), one);
}

/// Digest of the parameters after three steps, and the largest memory.
std::pair<std::string, std::int64_t> trained_keeping(std::int64_t keep_every,
                                                     std::int64_t repeats) {
  const data::Dataset dataset = bright_spots(64);
  std::pair<std::string, std::int64_t> result;
  Session session({.devices = 2});
  session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
    SharedBlock model(rank,
                      {.inputs = 12, .width = 32, .repeats = repeats, .keep_every = keep_every});
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
    models::fit<DataParallel>(rank, model, optimizer, dataset, dataset,
                              {.epochs = 1, .global_batch = 24});
    if (rank.rank() == 0) result = {model.parameters().digest(), rank.arena().peak_bytes()};
  });
  return result;
}

TEST(Scan, GivesTheSameBitsWhenOnlySomeStatesAreKept) {
  const auto [digest, peak] = trained_keeping(1, 50);
  for (const std::int64_t keep_every : {2, 7, 49, 50, 64}) {
    const auto [digest_of_some, peak_of_some] = trained_keeping(keep_every, 50);
    EXPECT_EQ(digest_of_some, digest) << "every " << keep_every;
    if (keep_every == 7) {
      EXPECT_LT(peak_of_some, peak / 2);
    }
  }
  EXPECT_THROW(trained_keeping(0, 50), ConfigurationError);
}

/// A layer whose logits go through a scan that changes nothing, and past it.
struct HandedThrough {
  explicit HandedThrough(RankContext& context)
      : parameters_(context, {{"w", {12, 10}, Start::he_normal}, {"b", {10}}}, 1) {}
  Parameters<double>& parameters() { return parameters_; }
  Parameters<double> parameters_;
};

std::vector<double> gradient_through_scan(std::int64_t keep_every) {
  RankContext context;
  HandedThrough model(context);
  const data::Dataset dataset = bright_spots(6);
  const auto batches = data::stack_batches<double>(dataset, {.batches = 1, .batch = 6});
  const auto x = device_put<P<none, none>>(context, batches.images(0));
  const auto y = device_put<P<none>>(context, batches.labels(0));
  const auto result = value_and_grad(model, [&] {
    const auto z = ops::dense(x, model.parameters().get<double**, P<>>(0),
                              model.parameters().get<double*, P<>>(1));
    const auto same =
        ops::scan(z, 5, [](const auto& carry) { return carry; }, {.keep_every = keep_every});
    return ops::softmax_cross_entropy(ops::residual_mix(z, same, 0.25), y);
  });
  return result.gradients.local_values(0);
}

TEST(Scan, OfABodyThatHandsItsCarryThroughLosesNoGradient) {
  const std::vector<double> all = gradient_through_scan(1);
  const std::vector<double> some = gradient_through_scan(2);
  ASSERT_EQ(all.size(), 120U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(some[i], all[i], 1e-15);
}

/// Peak of the arena of rank 0 after two epochs, over the estimate.
template <class Model, class Optimizer, class Options>
double used_over_estimated(int devices, std::int64_t batch, const Options& options,
                           std::int64_t optimizer_buffers) {
  const data::Dataset dataset = bright_spots(batch * 2);
  std::int64_t peak = 0;
  Session session({.devices = devices});
  session.run(Mesh{{"data", devices}}, [&](Rank& rank) {
    Model model(rank, options);
    Optimizer optimizer(model.parameters(), {});
    models::fit<DataParallel>(rank, model, optimizer, dataset, dataset,
                              {.epochs = 2, .global_batch = batch});
    if (rank.rank() == 0) peak = rank.arena().peak_bytes();
  });
  const models::MemoryEstimate estimate =
      models::estimate_memory(options, {.rows = (batch + devices - 1) / devices,
                                        .element_bytes = 8,
                                        .optimizer_buffers = optimizer_buffers,
                                        .batches = device_memory_is_host_accessible ? 0 : 1});
  return static_cast<double>(peak) / static_cast<double>(estimate.total());
}

TEST(MemoryEstimate, IsWithinTenPercentOfWhatTrainingTakes) {
  using Adam = optim::AdamW<double>;
  using Sgd = optim::SGD<double>;
  for (const int devices : {1, 2, 3}) {
    for (const auto& [repeats, keep_every] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 1}, {1, 1}, {6, 1}, {40, 1}, {40, 6}, {40, 13}, {40, 40}}) {
      const models::SharedBlockMlpOptions options{
          .inputs = 12, .width = 96, .repeats = repeats, .keep_every = keep_every};
      EXPECT_NEAR((used_over_estimated<SharedBlock, Adam>(devices, 600, options, 2)), 1, 0.1)
          << devices << " devices, " << repeats << " repeats";
    }
    for (const std::vector<std::int64_t>& hidden :
         {std::vector<std::int64_t>{}, {128}, {256, 128}, {64, 128, 32, 96}}) {
      const models::MlpOptions options{.inputs = 12, .hidden = hidden};
      EXPECT_NEAR((used_over_estimated<Mlp, Adam>(devices, 600, options, 2)), 1, 0.1)
          << devices << " devices, " << hidden.size() << " hidden layers";
      EXPECT_NEAR((used_over_estimated<Mlp, Sgd>(devices, 600, options, 1)), 1, 0.1)
          << devices << " devices, " << hidden.size() << " hidden layers, SGD";
    }
  }
}

TEST(Mlp, RefusesLayersWithoutUnits) {
  RankContext context;
  EXPECT_THROW(Mlp(context, {.inputs = 12, .hidden = {0}}), ConfigurationError);
  EXPECT_THROW(Mlp(context, {.inputs = 0}), ConfigurationError);
  EXPECT_EQ(Mlp::parameter_count({.inputs = 784, .hidden = {128}}), 101770);
}

}  // namespace

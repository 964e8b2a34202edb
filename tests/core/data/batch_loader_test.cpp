// The loader against `EpochBatches`: the same examples in the same order, cut and prepared ahead.
#include <gtest/gtest.h>

#include <kolam/core/data/batch_loader.hpp>
#include <kolam/core/error.hpp>

#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace kolam;
using namespace kolam::data;

Dataset numbered(std::int64_t count) {
  IdxFile images{{count, 2, 2}, {}};
  IdxFile labels{{count}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int pixel = 0; pixel < 4; ++pixel) {
      images.bytes.push_back(static_cast<std::uint8_t>(i * 5 + pixel));
    }
    labels.bytes.push_back(static_cast<std::uint8_t>(i % 10));
  }
  return Dataset(std::move(images), std::move(labels), "made up");
}

struct Rows {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  bool operator==(const Rows&) const = default;

  void add(const HostTensor<float>& images, const HostTensor<std::int32_t>& row_labels) {
    pixels.insert(pixels.end(), images.data, images.data + images.extents.count());
    labels.insert(labels.end(), row_labels.data, row_labels.data + row_labels.extents.count());
  }
};

/// What all shares of the batches of three epochs hold, batch by batch.
Rows loaded(const Dataset& dataset, std::int64_t batch, int parts, std::int64_t ahead) {
  std::vector<std::unique_ptr<BatchLoader<float>>> loaders;
  for (int part = 0; part < parts; ++part) {
    loaders.push_back(std::make_unique<BatchLoader<float>>(
        dataset,
        LoaderOptions{.global_batch = batch,
                      .seed = 4,
                      .share = [=](std::int64_t rows) { return even_slice(rows, parts, part); },
                      .ahead = ahead}));
  }
  Rows rows;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (auto& loader : loaders) loader->start(epoch);
    for (std::int64_t i = 0; i < loaders[0]->batch_count(); ++i) {
      std::int64_t all = 0;
      for (auto& loader : loaders) {
        EXPECT_TRUE(loader->next());
        rows.add(loader->images(), loader->labels());
        all += loader->labels().extents[0];
      }
      EXPECT_EQ(loaders[0]->global_rows(), all);
    }
    for (auto& loader : loaders) EXPECT_FALSE(loader->next());
  }
  return rows;
}

TEST(BatchLoader, GivesEveryExampleOnceInTheOrderOfTheEpoch) {
  const Dataset dataset = numbered(23);
  for (const std::int64_t batch : {1, 4, 7, 23, 100}) {
    Rows expected;
    EpochBatches<float> whole(dataset, {.global_batch = batch, .seed = 4});
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      whole.start(epoch);
      while (whole.next()) expected.add(whole.images(), whole.labels());
    }
    for (const int parts : {1, 2, 3, 5}) {
      for (const std::int64_t ahead : {0, 1, 3}) {
        EXPECT_EQ(loaded(dataset, batch, parts, ahead), expected)
            << "batch " << batch << ", " << parts << " parts, " << ahead << " ahead";
      }
    }
  }
}

TEST(BatchLoader, KeepsTheCurrentBatchWhileOthersArePrepared) {
  const Dataset dataset = numbered(40);
  BatchLoader<float> loader(dataset, {.global_batch = 4, .order = Order::as_stored, .ahead = 2});
  loader.start(0);
  for (std::int64_t i = 0; loader.next(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(loader.labels().data[0], 4 * i % 10);
    EXPECT_EQ(loader.images().data[0], static_cast<float>(20 * i % 256) / 255.0F);
  }
}

TEST(BatchLoader, CanBeLeftInTheMiddleOfAnEpoch) {
  const Dataset dataset = numbered(40);
  for (int taken = 0; taken < 5; ++taken) {
    BatchLoader<float> loader(dataset, {.global_batch = 4, .ahead = 2});
    loader.start(0);
    for (int i = 0; i < taken; ++i) loader.next();
    loader.start(1);
    EXPECT_TRUE(loader.next());
  }
}

TEST(BatchLoader, StartsItselfWithEpochZero) {
  const Dataset dataset = numbered(8);
  for (const std::int64_t ahead : {0, 2}) {
    const LoaderOptions options{.global_batch = 3, .order = Order::as_stored, .ahead = ahead};
    BatchLoader<float> loader(dataset, options);
    std::vector<std::int32_t> labels;
    while (loader.next()) {
      labels.insert(labels.end(), loader.labels().data,
                    loader.labels().data + loader.labels().extents[0]);
    }
    EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST(BatchLoader, RefusesNonsense) {
  const Dataset dataset = numbered(4);
  EXPECT_THROW(BatchLoader<float>(dataset, {.global_batch = 0}), ConfigurationError);
  EXPECT_THROW(BatchLoader<float>(dataset, {.global_batch = 1, .ahead = -1}), ConfigurationError);
}

}  // namespace

// Records of collectives, and the model that predicts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/parallel/communication_model.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/trace.hpp>

#include <vector>

namespace {

using namespace kolam;

TEST(Trace, KeepsEveryCollectiveWithItsSize) {
  Session session({.devices = 2});
  session.run(Mesh{{"data", 2}}, [](Rank& rank) {
    std::vector<float> values(6, 1.0F);
    std::vector<float> received(12);
    Communicator& plain = rank.communicator();
    {
      const CollectiveTrace trace(rank);
      Communicator& traced = rank.communicator();
      EXPECT_NE(&traced, &plain);
      traced.allreduce(rank.space(), {"data", "sums"}, ReduceOperation::sum,
                       {values.data(), ScalarType::f32, 6});
      traced.allgather(rank.space(), {"data", "blocks"}, {values.data(), ScalarType::f32, 6},
                       {received.data(), ScalarType::f32, 12});
      traced.broadcast(rank.space(), {"data", "start"}, 0, {values.data(), ScalarType::f32, 3});
      traced.barrier(rank.space(), {"data", "end"});
      ASSERT_EQ(trace.records().size(), 4U);
      const CollectiveRecord& first = trace.records()[0];
      EXPECT_EQ(first.kind, CollectiveKind::allreduce);
      EXPECT_EQ(first.label, "sums");
      EXPECT_EQ(first.bytes, 24);
      EXPECT_EQ(first.group_size, 2);
      EXPECT_EQ(trace.records()[1].bytes, 24) << "elements per rank";
      EXPECT_EQ(trace.records()[2].bytes, 12);
      EXPECT_EQ(trace.records()[3].kind, CollectiveKind::barrier);
    }
    EXPECT_EQ(&rank.communicator(), &plain);
    EXPECT_EQ(values[0], 2.0F);
    EXPECT_EQ(received[11], 2.0F);
  });
}

TEST(CommunicationModel, InterpolatesBandwidthInTheLogarithmOfTheSize) {
  const CommunicationModel model(1e-6, {{1 << 10, 1e9}, {1 << 20, 3e9}});
  EXPECT_DOUBLE_EQ(model.allreduce_seconds(0), 1e-6);
  EXPECT_DOUBLE_EQ(model.allreduce_seconds(1 << 10), 1e-6 + 1024 / 1e9);
  EXPECT_DOUBLE_EQ(model.allreduce_seconds(1 << 15), 1e-6 + 32768 / 2e9);
  EXPECT_DOUBLE_EQ(model.allreduce_seconds(1 << 20), 1e-6 + 1048576 / 3e9);
  EXPECT_DOUBLE_EQ(model.allreduce_seconds(1 << 21), 1e-6 + 2097152 / 3e9) << "beyond the last";
  EXPECT_DOUBLE_EQ(model.allreduce_seconds(1 << 9), 1e-6 + 512 / 1e9) << "before the first";
}

TEST(CommunicationModel, TakesHalfAnAllreduceForHalfTheWork) {
  const CommunicationModel model(1e-6, {{1, 1e9}});
  EXPECT_DOUBLE_EQ(model.seconds(CollectiveKind::allgather, 1000, 4), 1e-6 + 0.5 * 4000 / 1e9);
  EXPECT_DOUBLE_EQ(model.seconds(CollectiveKind::broadcast, 1000, 4), 1e-6 + 0.5 * 1000 / 1e9);
  EXPECT_DOUBLE_EQ(model.seconds(CollectiveKind::barrier, 0, 4), 1e-6);
}

TEST(CommunicationModel, RefusesNoBandwidths) {
  EXPECT_THROW(CommunicationModel(1e-6, {}), ConfigurationError);
  EXPECT_THROW(CommunicationModel(1e-6, {{2, 1.0}, {1, 1.0}}), ConfigurationError);
}

TEST(CommunicationModel, IsTheSameOnEveryRank) {
  std::vector<double> seconds(3);
  Session session({.devices = 3});
  session.run(Mesh{{"data", 3}}, [&](Rank& rank) {
    const CommunicationModel model = measure_communication(rank, "data", 1 << 18);
    EXPECT_GT(model.latency_seconds(), 0);
    EXPECT_EQ(model.bandwidth().size(), 2U) << "64 KiB and 256 KiB";
    seconds[static_cast<std::size_t>(rank.rank())] = model.allreduce_seconds(100000);
  });
  EXPECT_GT(seconds[0], 0);
  EXPECT_EQ(seconds[0], seconds[1]);
  EXPECT_EQ(seconds[0], seconds[2]);
}

}  // namespace

// Calls that do not match never pair up: every rank gets the same error, which names what differs
// and the call of each rank.
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "oracle.hpp"
#include "run_on_ranks.hpp"

namespace kolam::testing {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t count = 8;

struct Mismatch {
  std::string name;
  /// What the message says differs.
  std::string differs;
  /// One rank's call, another than the rest makes.
  RankFunction odd;
  RankFunction usual;
  /// How the message describes the two.
  std::string odd_call;
  std::string usual_call;
};

template <class T = float>
RankFunction allreduce(ReduceOperation operation, std::int64_t elements, std::string label,
                       Axes over = "data") {
  return [=](Communicator& communicator) {
    std::vector<T> values(static_cast<std::size_t>(elements));
    communicator.allreduce(ExecutionSpace(), {over, label}, operation, buffer(values));
  };
}

RankFunction allgather(std::string label) {
  return [=](Communicator& communicator) {
    const std::vector<float> send(count);
    std::vector<float> receive(static_cast<std::size_t>(count * communicator.mesh().size()));
    communicator.allgather(ExecutionSpace(), {"data", label}, const_buffer(send), buffer(receive));
  };
}

RankFunction broadcast(int root) {
  return [=](Communicator& communicator) {
    std::vector<float> values(count);
    communicator.broadcast(ExecutionSpace(), {"data", "weights"}, root, buffer(values));
  };
}

RankFunction permute(std::vector<Route> routes) {
  return [=](Communicator& communicator) {
    const std::vector<float> send(count);
    std::vector<float> receive(count);
    communicator.permute(ExecutionSpace(), {"data", "halo"}, routes, const_buffer(send),
                         buffer(receive));
  };
}

RankFunction one_after_the_other(RankFunction first, RankFunction second) {
  return [=](Communicator& communicator) {
    first(communicator);
    second(communicator);
  };
}

std::vector<Mismatch> mismatches() {
  const ReduceOperation sum = ReduceOperation::sum;
  const RankFunction usual = allreduce(sum, count, "gradients");
  const std::string usual_call = "allreduce(sum) of 8 f32 over data, label \"gradients\"";
  return {
      {"an extra allgather", "operation, label", one_after_the_other(allgather("extra"), usual),
       usual, "#1 allgather of 8 f32 over data, label \"extra\"", "#1 " + usual_call},
      {"another collective", "operation", allgather("gradients"), usual,
       "allgather of 8 f32 over data, label \"gradients\"", usual_call},
      {"another reduction", "operation", allreduce(ReduceOperation::max, count, "gradients"), usual,
       "allreduce(max) of 8 f32 over data, label \"gradients\"", usual_call},
      {"another count", "count", allreduce(sum, count + 1, "gradients"), usual,
       "allreduce(sum) of 9 f32 over data, label \"gradients\"", usual_call},
      {"no elements", "count", allreduce(sum, 0, "gradients"), usual,
       "allreduce(sum) of 0 f32 over data, label \"gradients\"", usual_call},
      {"another element type", "element type", allreduce<double>(sum, count, "gradients"), usual,
       "allreduce(sum) of 8 f64 over data, label \"gradients\"", usual_call},
      {"an element type of the same size", "element type",
       allreduce<std::int32_t>(sum, count, "gradients"), usual,
       "allreduce(sum) of 8 i32 over data, label \"gradients\"", usual_call},
      {"the other order of two tensors of one shape", "label",
       one_after_the_other(allreduce(sum, count, "bias"), usual),
       one_after_the_other(usual, allreduce(sum, count, "bias")),
       "#1 allreduce(sum) of 8 f32 over data, label \"bias\"", "#1 " + usual_call},
      {"the other order of two tensors, later", "label",
       one_after_the_other(usual, allreduce(sum, count, "bias")),
       one_after_the_other(usual, allreduce(sum, count, "scale")),
       "#2 allreduce(sum) of 8 f32 over data, label \"bias\"",
       "#2 allreduce(sum) of 8 f32 over data, label \"scale\""},
      {"another root", "root", broadcast(1), broadcast(0),
       "broadcast(root 1) of 8 f32 over data, label \"weights\"",
       "broadcast(root 0) of 8 f32 over data, label \"weights\""},
      {"other routes", "routes", permute({{0, 1}}), permute({{1, 0}}),
       "permute(0->1) of 8 f32 over data, label \"halo\"",
       "permute(1->0) of 8 f32 over data, label \"halo\""},
      {"other axes of the same ranks", "axes",
       allreduce(sum, count, "gradients", axes("data", "absent")), usual,
       "allreduce(sum) of 8 f32 over data+absent, label \"gradients\"", usual_call},
  };
}

class Mismatches : public ::testing::TestWithParam<int> {};

TEST_P(Mismatches, AreErrorsOnEveryRankThatNameTheCalls) {
  const int odd_rank = GetParam();
  for (const Mismatch& mismatch : mismatches()) {
    SCOPED_TRACE(mismatch.name);
    const Mesh mesh{{"data", 3}};
    in_process::World world(mesh);
    const std::vector<std::exception_ptr> errors =
        run_and_catch(world, mesh, [&](Communicator& communicator) {
          (communicator.rank() == odd_rank ? mismatch.odd : mismatch.usual)(communicator);
        });
    for (int rank = 0; rank < 3; ++rank) {
      const std::exception_ptr& error = errors[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(is_a<CommunicationError>(error)) << "rank " << rank;
      EXPECT_THAT(message_of(error),
                  AllOf(HasSubstr("collectives do not match in their " + mismatch.differs + ":"),
                        HasSubstr("rank " + std::to_string(odd_rank) + " called #"),
                        HasSubstr(mismatch.odd_call), HasSubstr(mismatch.usual_call)))
          << "rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddRank, Mismatches, ::testing::Values(0, 1, 2),
                         [](const ::testing::TestParamInfo<int>& rank) {
                           return "Rank" + std::to_string(rank.param);
                         });

/// Runs the function on the ranks of a mesh of 2, and returns what the two threw.
std::vector<std::exception_ptr> errors_of_two(const RankFunction& function) {
  const Mesh mesh{{"data", 2}};
  in_process::World world(mesh);
  return run_and_catch(world, mesh, function);
}

TEST(Refusals, ComeBeforeTheOthersAreMet) {
  // Only rank 0 makes the bad call; nobody waits for it, so nobody else is involved.
  const auto expect_refusal = [](const RankFunction& call, const std::string& message) {
    const std::vector<std::exception_ptr> errors = errors_of_two([&](Communicator& communicator) {
      if (communicator.rank() == 0) call(communicator);
    });
    EXPECT_THAT(message_of(errors[0]), HasSubstr(message));
    EXPECT_TRUE(is_a<Error>(errors[0]));
    EXPECT_FALSE(errors[1]) << message_of(errors[1]);
  };
  expect_refusal(broadcast(2), "root 2 is not in the group of 2 ranks");
  expect_refusal(broadcast(-1), "root -1 is not in the group of 2 ranks");
  expect_refusal(permute({{0, 1}, {1, 1}}), "halo");
  expect_refusal(permute({{0, 2}}), "halo");
  expect_refusal(
      [](Communicator& communicator) {
        communicator.allreduce(ExecutionSpace(), {"data", "nowhere"}, ReduceOperation::sum,
                               {nullptr, ScalarType::f32, 4});
      },
      "nowhere");
  expect_refusal(
      [](Communicator& communicator) {
        communicator.allreduce(ExecutionSpace(), {"data", "negative"}, ReduceOperation::sum,
                               {nullptr, ScalarType::f32, -1});
      },
      "negative");
  expect_refusal(
      [](Communicator& communicator) {
        const std::vector<float> send(4);
        std::vector<float> receive(4);
        communicator.allgather(ExecutionSpace(), {"data", "too short"}, const_buffer(send),
                               buffer(receive));
      },
      "too short");
  expect_refusal(
      [](Communicator& communicator) {
        std::vector<std::int32_t> values(4);
        communicator.allreduce(ExecutionSpace(), {"data", "whole numbers"}, ReduceOperation::mean,
                               buffer(values));
      },
      "whole numbers");
}

TEST(Refusals, NameByteCountsBeyond64Bits) {
  const std::vector<std::exception_ptr> errors = errors_of_two([](Communicator& communicator) {
    if (communicator.rank() != 0) return;
    float value = 0;
    communicator.allreduce(ExecutionSpace(), {"data", "huge"}, ReduceOperation::sum,
                           {&value, ScalarType::f32, std::int64_t{1} << 62});
  });
  EXPECT_TRUE(is_a<ShapeError>(errors[0])) << message_of(errors[0]);
}

TEST(Mismatch, AcrossGroupsThatWaitForEachOtherIsFoundWithoutADeadline) {
  // Ranks 0 and 3 of a 2 x 2 grid go over "data" first, the others over "model": a ring of waits.
  const Mesh mesh{{"data", 2}, {"model", 2}};
  in_process::World world(mesh, {.deadline = std::chrono::hours(1)});
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [](Communicator& communicator) {
        const bool data_first = communicator.rank() == 0 || communicator.rank() == 3;
        const Axes first = data_first ? Axes("data") : Axes("model");
        const Axes second = data_first ? Axes("model") : Axes("data");
        allreduce(ReduceOperation::sum, count, "a", first)(communicator);
        allreduce(ReduceOperation::sum, count, "b", second)(communicator);
      });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(message_of(error), HasSubstr("wait for each other in different collectives"));
  }
}

}  // namespace

}  // namespace kolam::testing

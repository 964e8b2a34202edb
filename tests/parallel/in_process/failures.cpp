// Ranks that throw, end, or never come: the others end too, with the first cause, and in time.
#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "oracle.hpp"
#include "run_on_ranks.hpp"

namespace kolam::testing {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

void add_up(Communicator& communicator, std::string_view label) {
  std::vector<float> values = elements<float>(communicator.rank(), 100);
  communicator.allreduce(ExecutionSpace(), {"data", label}, ReduceOperation::sum, buffer(values));
}

TEST(Failure, OfOneRankReachesAllThatWait) {
  for (int ranks = 2; ranks <= 5; ++ranks) {
    for (int thrower = 0; thrower < ranks; ++thrower) {
      const Mesh mesh{{"data", ranks}};
      in_process::World world(mesh);
      const std::vector<std::exception_ptr> errors =
          run_and_catch(world, mesh, [&](Communicator& communicator) {
            for (int step = 0; step < 6; ++step) {
              if (step == 3 && communicator.rank() == thrower) {
                throw std::runtime_error("label 12 is out of range");
              }
              add_up(communicator, "gradients");
            }
          });
      EXPECT_EQ(world.cause(), "rank " + std::to_string(thrower) + ": label 12 is out of range");
      for (int rank = 0; rank < ranks; ++rank) {
        const std::exception_ptr& error = errors[static_cast<std::size_t>(rank)];
        EXPECT_EQ(is_a<in_process::Aborted>(error), rank != thrower);
        EXPECT_THAT(message_of(error), HasSubstr("label 12 is out of range"));
      }
    }
  }
}

TEST(Failure, OfSeveralRanksKeepsTheFirstCause) {
  const Mesh mesh{{"data", 3}};
  in_process::World world(mesh);
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [](Communicator& communicator) {
        if (communicator.rank() == 1) throw std::runtime_error("the first cause");
        try {
          add_up(communicator, "gradients");
        } catch (const in_process::Aborted&) {
          throw std::runtime_error("thrown during clean-up");
        }
      });
  EXPECT_EQ(world.cause(), "rank 1: the first cause");
  EXPECT_EQ(message_of(errors[0]), "thrown during clean-up");
}

TEST(Failure, DuringCleanUpInAnotherCollectiveEndsAtOnce) {
  const Mesh mesh{{"data", 3}};
  in_process::World world(mesh, {.deadline = 1h});
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [](Communicator& communicator) {
        if (communicator.rank() == 1) throw std::runtime_error("the first cause");
        try {
          add_up(communicator, "gradients");
        } catch (const in_process::Aborted&) {
          add_up(communicator, "saving what there is");
        }
      });
  EXPECT_THAT(message_of(errors[0]), HasSubstr("the first cause"));
  EXPECT_THAT(message_of(errors[2]), HasSubstr("the first cause"));
}

TEST(Failure, StaysFailed) {
  const Mesh mesh{{"data", 2}};
  in_process::World world(mesh);
  world.abort(0, "out of memory");
  world.abort(1, "something later");
  EXPECT_TRUE(world.aborted());
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [](Communicator& communicator) { add_up(communicator, "again"); });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(message_of(error), AllOf(HasSubstr("rank 0 failed first: out of memory"),
                                         Not(HasSubstr("something later"))));
  }
}

TEST(Deadline, NamesTheRankThatIsMissingAndWhatEveryoneDid) {
  const Mesh mesh{{"data", 3}};
  in_process::World world(mesh, {.deadline = 200ms});
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [&](Communicator& communicator) {
        add_up(communicator, "before");
        if (communicator.rank() == 2) {
          while (!world.aborted()) std::this_thread::sleep_for(1ms);
        }
        add_up(communicator, "gradients");
      });
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  for (const std::exception_ptr& error : errors) {
    EXPECT_TRUE(is_a<CommunicationError>(error));
    EXPECT_THAT(message_of(error),
                AllOf(HasSubstr("waited for rank 2 until the deadline of 0.200 s passed"),
                      HasSubstr("label \"gradients\""), HasSubstr("label \"before\"")));
  }
}

TEST(Deadline, DoesNotCutWorkThatAllHaveEntered) {
  // Longer than the deadline in all, but never waiting for anyone for long.
  const Mesh mesh{{"data", 2}};
  in_process::World world(mesh, {.deadline = 150ms});
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [](Communicator& communicator) {
        for (int step = 0; step < 4; ++step) {
          std::this_thread::sleep_for(60ms);
          add_up(communicator, "gradients");
        }
      });
  for (const std::exception_ptr& error : errors) EXPECT_FALSE(error) << message_of(error);
}

TEST(FinishedRank, IsNotWaitedFor) {
  for (int early = 0; early < 3; ++early) {
    const Mesh mesh{{"data", 3}};
    in_process::World world(mesh, {.deadline = 1h});
    const std::vector<std::exception_ptr> errors =
        run_and_catch(world, mesh, [&](Communicator& communicator) {
          add_up(communicator, "first step");
          if (communicator.rank() != early) add_up(communicator, "second step");
        });
    for (int rank = 0; rank < 3; ++rank) {
      const std::exception_ptr& error = errors[static_cast<std::size_t>(rank)];
      if (rank == early) {
        EXPECT_FALSE(error) << message_of(error);
      } else {
        EXPECT_THAT(message_of(error),
                    AllOf(HasSubstr("rank " + std::to_string(early) + " has ended after 1 "),
                          HasSubstr("label \"second step\"")));
      }
    }
  }
}

TEST(FinishedRank, LeavesGroupsWithoutItUsable) {
  const Mesh mesh{{"data", 2}, {"model", 2}};
  in_process::World world(mesh);
  const std::vector<std::exception_ptr> errors =
      run_and_catch(world, mesh, [](Communicator& communicator) {
        if (communicator.rank() < 2) return;
        std::vector<float> values(4, 1.0F);
        for (int step = 0; step < 10; ++step) {
          communicator.barrier(ExecutionSpace(), {"model", "pair"});
        }
      });
  for (const std::exception_ptr& error : errors) EXPECT_FALSE(error) << message_of(error);
}

TEST(World, RefusesNonsense) {
  EXPECT_THROW(in_process::World(Mesh{{"data", 2}}, {.deadline = 0ms}), ConfigurationError);
  EXPECT_THROW(in_process::World(Mesh{{"data", 5000}}), ConfigurationError);
  in_process::World world(Mesh{{"data", 2}});
  EXPECT_THROW(world.communicator(2), ConfigurationError);
  EXPECT_THROW(world.communicator(-1), ConfigurationError);
}

}  // namespace

}  // namespace kolam::testing

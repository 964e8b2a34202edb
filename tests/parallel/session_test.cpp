// Sessions: devices, threads, and what happens when a rank fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/array/device_put.hpp>
#include <kolam/core/ops/dense.hpp>
#include <kolam/parallel/collectives.hpp>
#include <kolam/parallel/session.hpp>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace {

using namespace kolam;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

template <class E, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing of the expected type was thrown";
}

/// Sets an environment variable while it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

void allreduce_one(Rank& rank, std::string_view label) {
  double number = 1;
  rank.communicator().allreduce(rank.space(), {"data", label}, ReduceOperation::sum,
                                {&number, ScalarType::f64, 1});
}

TEST(Session, FindsACoreAtLeast) {
  const Session session;
  ASSERT_GE(session.device_count(), 1);
  EXPECT_EQ(session.devices().front().kind, "cpu core");
  EXPECT_GT(session.memory_limit(), 0);
}

TEST(Session, JoinsTheKokkosOfItsHostAndLeavesItRunning) {
  ASSERT_TRUE(compat::kokkos_is_initialized());
  { const Session session({.devices = 1}); }
  EXPECT_TRUE(compat::kokkos_is_initialized());
}

TEST(Session, RunsTheFunctionOnceOnEveryRank) {
  Session session({.devices = 4});
  std::array<std::atomic<int>, 4> calls{};
  session.run(Mesh{{"data", 2}, {"model", 2}}, [&](Rank& rank) {
    ++calls[static_cast<std::size_t>(rank.rank())];
    EXPECT_EQ(rank.device().index, rank.rank());
  });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(Session, MarksDevicesThatShareACore) {
  const Session session({.devices = 1});
  const int cores = static_cast<int>(session.machine().devices.size());
  EXPECT_FALSE(session.devices().front().is_shared);
  EXPECT_TRUE(Session({.devices = cores + 1}).devices().front().is_shared);
}

TEST(Session, RefusesAMeshLargerThanItsDevices) {
  Session session({.devices = 2});
  EXPECT_EQ(
      message_of<ConfigurationError>([&] {
        session.run(Mesh{{"data", 3}}, [](Rank&) {});
      }),
      "the mesh {\"data\": 3} needs 3 devices, this session has 2; use a smaller mesh or more "
      "devices");
}

TEST(Session, RefusesNonsenseFromOptionsAndEnvironment) {
  EXPECT_THROW(Session({.devices = 0}), ConfigurationError);
  EXPECT_THROW(Session({.devices = -3}), ConfigurationError);
  for (const char* token : {"", "two", "1.5", "0", "-1", "1e9", "2x", "nan"}) {
    const Environment devices("KOLAM_DEVICES", token);
    EXPECT_THROW(Session(), ConfigurationError) << token;
  }
  const Environment unknown("KOLAM_DEVICE", "2");
  EXPECT_THAT(message_of<ConfigurationError>([] { Session(); }),
              AllOf(HasSubstr("KOLAM_DEVICE is not one of kolam's"), HasSubstr("KOLAM_DEVICES")));
}

TEST(Session, TakesDevicesAndDeadlineFromTheEnvironment) {
  const Environment devices("KOLAM_DEVICES", "3");
  const Environment deadline("KOLAM_DEADLINE", "0.2");
  Session session;
  EXPECT_EQ(session.device_count(), 3);
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = message_of<CommunicationError>([&] {
    session.run(Mesh{{"data", 2}}, [](Rank& rank) {
      if (rank.rank() == 0) {
        allreduce_one(rank, "lonely");
      } else {
        std::this_thread::sleep_for(1s);
      }
    });
  });
  EXPECT_THAT(message, AllOf(HasSubstr("lonely"), HasSubstr("rank 1")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(Failure, ReachesTheCallerWithTypeTextAndRank) {
  Session session({.devices = 3});
  const auto fail_at_step_3 = [](Rank& rank) {
    for (int step = 0; step < 5; ++step) {
      if (rank.rank() == 1 && step == 3) throw ShapeError("the third layer does not fit");
      allreduce_one(rank, "gradients");
    }
  };
  EXPECT_EQ(message_of<ShapeError>([&] {
              session.run(Mesh{{"data", 3}}, fail_at_step_3);
            }),
            "rank 1: the third layer does not fit");
}

TEST(Failure, OfAForeignTypeIsNestedInARankError) {
  Session session({.devices = 2});
  try {
    session.run(Mesh{{"data", 2}}, [](Rank& rank) {
      if (rank.rank() == 1) throw std::out_of_range("index 7");
      allreduce_one(rank, "gradients");
    });
    FAIL() << "nothing was thrown";
  } catch (const RankError& error) {
    EXPECT_STREQ(error.what(), "rank 1: index 7");
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
}

TEST(Failure, KeepsTheFirstCauseWhenOthersThrowWhileTheyCleanUp) {
  Session session({.devices = 3});
  const auto body = [](Rank& rank) {
    if (rank.rank() == 2) throw DataError("label 12 of 10 classes");
    try {
      for (;;) allreduce_one(rank, "gradients");
    } catch (const CommunicationError&) {
      throw std::logic_error("clean-up failed as well");
    }
  };
  EXPECT_EQ(message_of<DataError>([&] {
              session.run(Mesh{{"data", 3}}, body);
            }),
            "rank 2: label 12 of 10 classes");
}

TEST(Failure, LeavesTheSessionUsable) {
  Session session({.devices = 2});
  EXPECT_THROW(session.run(Mesh{{"data", 2}}, [](Rank&) { throw DataError("once"); }), DataError);
  std::atomic<int> calls{0};
  session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
    allreduce_one(rank, "again");
    ++calls;
  });
  EXPECT_EQ(calls, 2);
}

TEST(Failure, ReportsARankThatDoesNotEnd) {
  static std::atomic<bool> release{false};
  static std::atomic<bool> left{false};
  Session session({.devices = 2, .grace = 100ms});
  const std::string message = message_of<StuckRankError>([&] {
    session.run(Mesh{{"data", 2}}, [](Rank& rank) {
      if (rank.rank() == 0) throw DataError("the first failure");
      while (!release) std::this_thread::yield();
      left = true;
    });
  });
  EXPECT_THAT(message,
              AllOf(HasSubstr("rank 1 did not end within 100 ms"), HasSubstr("the first failure")));
  release = true;
  while (!left) std::this_thread::yield();
}

TEST(Failure, OfARankThatEndsEarlyNamesIt) {
  Session session({.devices = 2});
  EXPECT_THAT(message_of<CommunicationError>([&] {
                session.run(Mesh{{"data", 2}}, [](Rank& rank) {
                  if (rank.rank() == 0) allreduce_one(rank, "one too many");
                });
              }),
              AllOf(HasSubstr("rank 1"), HasSubstr("one too many")));
}

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "Threads:") continue;
    int count = 0;
    status >> count;
    return count;
  }
  return -1;
}

TEST(Session, RunsOneThreadPerRankAndNoBlasThreads) {
  const std::vector<float> host(256 * 256, 0.5f);
  const auto multiply = [&](Rank& rank) {
    const auto x = device_put<P<none, none>>(rank, HostTensor<float>{host.data(), {256, 256}});
    const auto b = device_put<P<none>>(rank, HostTensor<float>{host.data(), {256}});
    for (int i = 0; i < 3; ++i) ops::dense(x, x, b);
    const auto x64 = Array<double**, P<>>(rank, {256, 256});
    const auto b64 = Array<double*, P<>>(rank, {256});
    Kokkos::deep_copy(x64.view(), 0.5);
    Kokkos::deep_copy(b64.view(), 0.5);
    for (int i = 0; i < 3; ++i) ops::dense(x64, x64, b64);
  };
  Session session({.devices = 2});
  // Libraries may keep helpers from their own start-up; what counts is that a step adds none.
  const int before = threads_of_this_process();
  std::atomic<int> during{0};
  session.run(Mesh{{"data", 2}}, [&](Rank& rank) {
    multiply(rank);
    allreduce_one(rank, "both are here");
    if (rank.rank() == 0) during = threads_of_this_process();
    allreduce_one(rank, "counted");
  });
  EXPECT_EQ(during, before + 2);
}

TEST(Gather, GivesEveryRankTheWholeArray) {
  std::vector<float> host(7 * 5);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i);
  Session session({.devices = 6});
  session.run(Mesh{{"data", 3}, {"model", 2}}, [&](Rank& rank) {
    const HostTensor<float> tensor{host.data(), {7, 5}};
    EXPECT_EQ(gather(device_put<P<"data", none>>(rank, tensor)), host);
    EXPECT_EQ(gather(device_put<P<"model", "data">>(rank, tensor)), host);
    EXPECT_EQ(gather(device_put<P<none, axes("data", "model")>>(rank, tensor)), host);
    EXPECT_EQ(gather(device_put<P<none, none>>(rank, tensor)), host);
    EXPECT_EQ(gather(device_put<P<"data", none>>(rank, HostTensor<float>{nullptr, {0, 5}})),
              std::vector<float>());
  });
}

}  // namespace

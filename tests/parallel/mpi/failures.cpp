// Processes that call something else, end, fail or never come: every other one gets an error that
// says so, in time.
#include <gmock/gmock.h>

#include <kolam/parallel/mpi/communicator.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace kolam;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

int processes() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void add_up(Communicator& communicator, std::string_view label, std::int64_t count = 8) {
  std::vector<float> values(static_cast<std::size_t>(count), 1.0F);
  communicator.allreduce(ExecutionSpace(), {"data", label}, ReduceOperation::sum,
                         {values.data(), ScalarType::f32, count});
}

/// What the function throws on this process; the processes stay together between tests.
std::string message(std::chrono::milliseconds deadline,
                    const std::function<void(mpi::MpiCommunicator&)>& function) {
  std::string text = "nothing";
  {
    mpi::MpiCommunicator communicator(MPI_COMM_WORLD, Mesh{{"data", processes()}},
                                      {.deadline = deadline});
    try {
      function(communicator);
    } catch (const std::exception& error) {
      text = error.what();
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return text;
}

TEST(Mpi, CallsThatDoNotMatchAreErrorsOnEveryRank) {
  for (int odd = 0; odd < processes(); ++odd) {
    const std::string text = message(10s, [&](mpi::MpiCommunicator& communicator) {
      add_up(communicator, "gradients", communicator.rank() == odd ? 9 : 8);
    });
    EXPECT_THAT(text, AllOf(HasSubstr("do not match in their count"),
                            HasSubstr("rank " + std::to_string(odd) +
                                      " called #1 allreduce(sum) of 9 f32 over data, label "
                                      "\"gradients\"")));
  }
}

TEST(Mpi, AMissingRankIsNamedAtTheDeadline) {
  const int missing = processes() - 1;
  const std::string text = message(300ms, [&](mpi::MpiCommunicator& communicator) {
    add_up(communicator, "before");
    if (communicator.rank() == missing) {
      std::this_thread::sleep_for(900ms);
    }
    add_up(communicator, "gradients");
  });
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == missing) {
    EXPECT_THAT(text, HasSubstr("failed first"));
  } else {
    EXPECT_THAT(text, HasSubstr("waited for rank " + std::to_string(missing)));
    EXPECT_THAT(text, HasSubstr("label \"gradients\""));
  }
}

TEST(Mpi, ARankThatEndedIsNamedAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const std::string text = message(30s, [&](mpi::MpiCommunicator& communicator) {
    add_up(communicator, "first step");
    if (communicator.rank() == 0) return communicator.finished();
    add_up(communicator, "second step");
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // The first that sees it tells the others.
  EXPECT_THAT(text, rank == 0 ? HasSubstr("nothing") : HasSubstr("rank 0 has ended"));
}

TEST(Mpi, TheCauseOfAFailedRankReachesTheOthers) {
  const int thrower = processes() / 2;
  const std::string text = message(30s, [&](mpi::MpiCommunicator& communicator) {
    add_up(communicator, "first step");
    if (communicator.rank() == thrower) {
      communicator.abort("label 12 is out of range");
      throw DataError("label 12 is out of range");
    }
    add_up(communicator, "second step");
  });
  EXPECT_THAT(text, HasSubstr("label 12 is out of range"));
}

TEST(Mpi, AMeshOfAnotherSizeIsRefused) {
  EXPECT_THROW(mpi::MpiCommunicator(MPI_COMM_SELF, Mesh{{"data", 2}}), ConfigurationError);
}

}  // namespace

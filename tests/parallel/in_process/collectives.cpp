// Every collective against a serial oracle. Each rank checks its own result, so the suite runs over
// communicators of threads and of processes alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle.hpp"
#include "run_on_ranks.hpp"

namespace kolam::testing {

namespace {

constexpr std::int64_t counts[] = {0, 1, 7, 1000, 100003};

template <class T>
class Collectives : public ::testing::Test {
 protected:
  /// Runs `function(communicator, count)` for 1 to 5 ranks and all counts.
  template <class Function>
  void for_all_sizes(const Function& function) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      run_on_ranks(Mesh{{"data", ranks}}, [&](Communicator& communicator) {
        for (const std::int64_t count : counts) function(communicator, count);
      });
    }
  }
};

std::vector<int> all_ranks(const Communicator& communicator) {
  return communicator.mesh().group(communicator.rank(), Axes("data"));
}

using ElementTypes = ::testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Collectives, ElementTypes);

TYPED_TEST(Collectives, AllreduceGivesTheTreeReductionOnEveryRank) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const ExecutionSpace space;
    for (const ReduceOperation operation : {ReduceOperation::sum, ReduceOperation::mean,
                                            ReduceOperation::min, ReduceOperation::max}) {
      if (operation == ReduceOperation::mean && !std::is_floating_point_v<T>) continue;
      std::vector<T> values = elements<T>(communicator.rank(), count);
      communicator.allreduce(space, {"data", "values"}, operation, buffer(values));
      EXPECT_TRUE(same_bits(values, reduced<T>(operation, all_ranks(communicator), 0, count)))
          << "count " << count << ", operation " << static_cast<int>(operation);
    }
  });
}

TYPED_TEST(Collectives, AllgatherPutsTheBlocksInOrder) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const int size = communicator.mesh().size();
    std::vector<T> expected;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<T> block = elements<T>(rank, count);
      expected.insert(expected.end(), block.begin(), block.end());
    }
    const std::vector<T> send = elements<T>(communicator.rank(), count);
    std::vector<T> receive(static_cast<std::size_t>(count * size));
    communicator.allgather(ExecutionSpace(), {"data", "values"}, const_buffer(send),
                           buffer(receive));
    EXPECT_TRUE(same_bits(receive, expected)) << "count " << count;
  });
}

TYPED_TEST(Collectives, AllgatherWorksInPlace) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const int size = communicator.mesh().size();
    std::vector<T> expected;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<T> block = elements<T>(rank, count);
      expected.insert(expected.end(), block.begin(), block.end());
    }
    std::vector<T> receive(static_cast<std::size_t>(count * size));
    const std::vector<T> mine = elements<T>(communicator.rank(), count);
    std::copy(mine.begin(), mine.end(), receive.begin() + communicator.rank() * count);
    communicator.allgather(
        ExecutionSpace(), {"data", "values"},
        {std::span(receive).subspan(static_cast<std::size_t>(communicator.rank() * count)).data(),
         scalar_type_of<T>, count},
        buffer(receive));
    EXPECT_TRUE(same_bits(receive, expected)) << "count " << count;
  });
}

TYPED_TEST(Collectives, ReduceScatterLeavesEachRankItsBlock) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const int size = communicator.mesh().size();
    const std::vector<T> send = elements<T>(communicator.rank(), count * size);
    std::vector<T> receive(static_cast<std::size_t>(count));
    communicator.reduce_scatter(ExecutionSpace(), {"data", "values"}, ReduceOperation::sum,
                                const_buffer(send), buffer(receive));
    EXPECT_TRUE(same_bits(receive, reduced<T>(ReduceOperation::sum, all_ranks(communicator),
                                              communicator.rank() * count, count)))
        << "count " << count;
  });
}

TYPED_TEST(Collectives, ReduceScatterWorksInPlace) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const int size = communicator.mesh().size();
    std::vector<T> values = elements<T>(communicator.rank(), count * size);
    const auto block = std::span(values).subspan(
        static_cast<std::size_t>(communicator.rank() * count), static_cast<std::size_t>(count));
    communicator.reduce_scatter(ExecutionSpace(), {"data", "values"}, ReduceOperation::max,
                                const_buffer(values), {block.data(), scalar_type_of<T>, count});
    EXPECT_TRUE(same_bits(std::vector<T>(block.begin(), block.end()),
                          reduced<T>(ReduceOperation::max, all_ranks(communicator),
                                     communicator.rank() * count, count)))
        << "count " << count;
  });
}

TYPED_TEST(Collectives, BroadcastCopiesTheRootsBuffer) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    for (int root = 0; root < communicator.mesh().size(); ++root) {
      std::vector<T> values = elements<T>(communicator.rank(), count);
      communicator.broadcast(ExecutionSpace(), {"data", "values"}, root, buffer(values));
      EXPECT_TRUE(same_bits(values, elements<T>(root, count)))
          << "count " << count << ", root " << root;
    }
  });
}

TYPED_TEST(Collectives, PermuteShiftsAroundTheRing) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const int size = communicator.mesh().size();
    std::vector<Route> ring;
    for (int rank = 0; rank < size; ++rank) ring.push_back({rank, (rank + 1) % size});
    const std::vector<T> send = elements<T>(communicator.rank(), count);
    std::vector<T> receive(static_cast<std::size_t>(count), T(1));
    communicator.permute(ExecutionSpace(), {"data", "values"}, ring, const_buffer(send),
                         buffer(receive));
    EXPECT_TRUE(same_bits(receive, elements<T>((communicator.rank() + size - 1) % size, count)))
        << "count " << count;
  });
}

TYPED_TEST(Collectives, PermuteGivesZerosToWhoeverIsNoTarget) {
  using T = TypeParam;
  this->for_all_sizes([](Communicator& communicator, std::int64_t count) {
    const int last = communicator.mesh().size() - 1;
    const Route only[] = {{0, last}};
    const std::vector<T> send = elements<T>(communicator.rank(), count);
    std::vector<T> receive(static_cast<std::size_t>(count), T(1));
    communicator.permute(ExecutionSpace(), {"data", "values"}, only, const_buffer(send),
                         buffer(receive));
    const std::vector<T> zeros(static_cast<std::size_t>(count));
    EXPECT_TRUE(same_bits(receive, communicator.rank() == last ? elements<T>(0, count) : zeros))
        << "count " << count;
  });
}

TEST(Allreduce, AddsAlongOneAxisOrBothOfAGrid) {
  for (const int columns : {2, 3}) {
    run_on_ranks(Mesh{{"data", 2}, {"model", columns}}, [](Communicator& communicator) {
      constexpr std::int64_t count = 1000;
      const auto expect_sum_over = [&](const Axes& over) {
        std::vector<float> values = elements<float>(communicator.rank(), count);
        communicator.allreduce(ExecutionSpace(), {over, "values"}, ReduceOperation::sum,
                               buffer(values));
        const std::vector<int> ranks = communicator.mesh().group(communicator.rank(), over);
        EXPECT_TRUE(same_bits(values, reduced<float>(ReduceOperation::sum, ranks, 0, count)))
            << over.names[0].view() << " of " << over.count;
      };
      expect_sum_over("data");
      expect_sum_over("model");
      expect_sum_over(axes("data", "model"));
      expect_sum_over(axes("model", "data"));
      expect_sum_over("absent");
      expect_sum_over(none);
    });
  }
}

TEST(Allreduce, RepeatsBitForBit) {
  run_on_ranks(Mesh{{"data", 3}}, [](Communicator& communicator) {
    std::vector<double> first = elements<double>(communicator.rank(), 5000);
    communicator.allreduce(ExecutionSpace(), {"data", "first"}, ReduceOperation::mean,
                           buffer(first));
    for (int repeat = 0; repeat < 100; ++repeat) {
      std::vector<double> again = elements<double>(communicator.rank(), 5000);
      communicator.allreduce(ExecutionSpace(), {"data", "again"}, ReduceOperation::mean,
                             buffer(again));
      EXPECT_TRUE(same_bits(first, again));
    }
  });
}

TEST(Allreduce, ReducesDeepTrees) {
  run_on_ranks(Mesh{{"data", 15}}, [](Communicator& communicator) {
    std::vector<float> values = elements<float>(communicator.rank(), 3000);
    communicator.allreduce(ExecutionSpace(), {"data", "values"}, ReduceOperation::sum,
                           buffer(values));
    EXPECT_TRUE(
        same_bits(values, reduced<float>(ReduceOperation::sum, all_ranks(communicator), 0, 3000)));
  });
}

TEST(Allreduce, WrapsIntegerSums) {
  run_on_ranks(Mesh{{"data", 2}}, [](Communicator& communicator) {
    std::vector<std::int32_t> wide{std::numeric_limits<std::int32_t>::max()};
    std::vector<std::uint8_t> narrow{200};
    communicator.allreduce(ExecutionSpace(), {"data", "wide"}, ReduceOperation::sum, buffer(wide));
    communicator.allreduce(ExecutionSpace(), {"data", "narrow"}, ReduceOperation::sum,
                           buffer(narrow));
    EXPECT_EQ(wide[0], -2);
    EXPECT_EQ(narrow[0], 144);
  });
}

TEST(Allreduce, LetsANanOfAnyRankThroughMinimumAndMaximum) {
  run_on_ranks(Mesh{{"data", 3}}, [](Communicator& communicator) {
    for (const ReduceOperation operation : {ReduceOperation::min, ReduceOperation::max}) {
      std::vector<float> values{1.0F, 2.0F, 3.0F, 4.0F};
      values[static_cast<std::size_t>(communicator.rank())] = std::nanf("");
      communicator.allreduce(ExecutionSpace(), {"data", "values"}, operation, buffer(values));
      EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]) && std::isnan(values[2]));
      EXPECT_EQ(values[3], 4.0F);
    }
  });
}

TEST(Allreduce, TakesNoMemoryForNoElements) {
  run_on_ranks(Mesh{{"data", 2}}, [](Communicator& communicator) {
    communicator.allreduce(ExecutionSpace(), {"data", "nothing"}, ReduceOperation::sum, {});
    communicator.allgather(ExecutionSpace(), {"data", "nothing"}, {}, {});
    communicator.permute(ExecutionSpace(), {"data", "nothing"}, {}, {}, {});
  });
}

TEST(Barrier, ShowsWhatOthersWroteBefore) {
  // Plain memory on purpose: the thread sanitizer sees a barrier that does not order. Ranks that
  // are processes each have their own copy, of which they know their own number only.
  std::vector<int> numbers(4, -1);
  run_on_ranks(Mesh{{"data", 4}}, [&numbers](Communicator& communicator) {
    numbers[static_cast<std::size_t>(communicator.rank())] = communicator.rank();
    communicator.barrier(ExecutionSpace(), {"data", "numbers are written"});
    EXPECT_EQ(numbers[static_cast<std::size_t>(communicator.rank())], communicator.rank());
    EXPECT_TRUE(std::ranges::count(numbers, -1) == 0 || std::ranges::count(numbers, -1) == 3);
  });
}

}  // namespace

}  // namespace kolam::testing

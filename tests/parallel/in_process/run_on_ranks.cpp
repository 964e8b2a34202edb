#include "run_on_ranks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

namespace kolam::testing {

namespace {

/// Ends the program unless it is destroyed in time.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(20), [this] { return done_; })) return;
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "%s.%s hangs: its ranks did not return within 20 s\n",
                 test->test_suite_name(), test->name());
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace

std::vector<std::exception_ptr> run_and_catch(in_process::World& world, const Mesh& mesh,
                                              const RankFunction& function) {
  const Watchdog watchdog;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(mesh.size()));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    threads.emplace_back([&world, &function, &errors, rank] {
      try {
        const std::unique_ptr<Communicator> communicator = world.communicator(rank);
        function(*communicator);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        world.abort(rank, error.what());
      }
      world.finished(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void run_on_ranks(const Mesh& mesh, const RankFunction& function) {
  const bool shared = mesh.size() > static_cast<int>(std::thread::hardware_concurrency());
  in_process::World world(mesh, {.ranks_share_cores = shared});
  const std::vector<std::exception_ptr> errors = run_and_catch(world, mesh, function);
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    EXPECT_FALSE(errors[rank]) << "rank " << rank << ": " << message_of(errors[rank]);
  }
}

std::string message_of(const std::exception_ptr& error) {
  if (!error) return "nothing";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

}  // namespace kolam::testing

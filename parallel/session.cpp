#include <kolam/parallel/session.hpp>

#include <fmt/format.h>
#include <kolam/core/kernels/blas_threads.hpp>
#include <kolam/parallel/environment.hpp>
#include <kolam/parallel/in_process/world.hpp>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

namespace kolam {

namespace {

/// A positive number from an environment variable; none if it is not set.
std::optional<double> positive_number_from(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view token(text);
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size() || !(value > 0)) {
    throw ConfigurationError(
        fmt::format("{} is \"{}\"; expected a number greater than 0", name, token));
  }
  return value;
}

int device_count_from(const SessionOptions& options, const MachineInfo& machine) {
  if (options.devices) {
    if (*options.devices < 1) {
      throw ConfigurationError(
          fmt::format("{} devices were asked for; expected at least 1", *options.devices));
    }
    return *options.devices;
  }
  const std::optional<double> count = positive_number_from("KOLAM_DEVICES");
  if (!count) return static_cast<int>(machine.devices.size());
  if (*count > 4096 || *count != static_cast<int>(*count)) {
    throw ConfigurationError(
        fmt::format("KOLAM_DEVICES is {}; expected a whole number from 1 to 4096", *count));
  }
  return static_cast<int>(*count);
}

std::chrono::milliseconds deadline_from(const SessionOptions& options) {
  if (options.deadline) return *options.deadline;
  const double seconds = positive_number_from("KOLAM_DEADLINE").value_or(60.0);
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(seconds, 1e9) * 1000.0));
}

/// What the rank threads of one run share. They keep it alive, because one may outlive `run`.
struct Run {
  Run(const Mesh& mesh, in_process::WorldOptions world_options, std::function<void(Rank&)> body)
      : world(mesh, world_options), function(std::move(body)), running(mesh.size()) {}

  in_process::World world;
  std::function<void(Rank&)> function;

  std::mutex mutex;
  std::condition_variable changed;
  int running;
  std::vector<bool> ended = std::vector<bool>(static_cast<std::size_t>(running), false);
  std::exception_ptr first_cause;
  int first_rank = -1;

  /// Only the first failure counts: what other ranks throw afterwards follows from it.
  void fail(int rank, std::exception_ptr cause, const std::string& text) {
    {
      const std::scoped_lock lock(mutex);
      if (!first_cause) {
        first_cause = std::move(cause);
        first_rank = rank;
      }
    }
    world.abort(rank, text);
    changed.notify_all();
  }

  void end(int rank) {
    world.finished(rank);
    {
      const std::scoped_lock lock(mutex);
      ended[static_cast<std::size_t>(rank)] = true;
      --running;
    }
    changed.notify_all();
  }

  std::string ranks_still_running() const {
    std::string text;
    for (std::size_t rank = 0; rank < ended.size(); ++rank) {
      if (!ended[rank]) text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
    }
    return text;
  }
};

void run_rank(Run& run, int rank, const DeviceInfo& device, bool pin,
              const DeviceOptions& options) {
  try {
    if (pin) pin_to(device);
    kernels::use_one_blas_thread();
    Rank context(run.world.communicator(rank), device, options);
    run.function(context);
  } catch (const in_process::Aborted& consequence) {
    run.fail(rank, std::current_exception(), consequence.what());
  } catch (const std::exception& error) {
    run.fail(rank, std::current_exception(), error.what());
  } catch (...) {
    run.fail(rank, std::current_exception(), "an exception that is no std::exception");
  }
  run.end(rank);
}

/// The same type again, with the rank's name in front.
template <class E>
[[noreturn]] void rethrow_named(const E& error, int rank) {
  throw E(fmt::format("rank {}: {}", rank, error.what()));
}

[[noreturn]] void rethrow_with_rank(const std::exception_ptr& cause, int rank) {
  try {
    std::rethrow_exception(cause);
  } catch (const CommunicationError&) {
    throw;  // names its ranks itself
  } catch (const ShapeError& error) {
    rethrow_named(error, rank);
  } catch (const DataError& error) {
    rethrow_named(error, rank);
  } catch (const ConfigurationError& error) {
    rethrow_named(error, rank);
  } catch (const OutOfMemory& error) {
    rethrow_named(error, rank);
  } catch (const Error& error) {
    rethrow_named(error, rank);
  } catch (const std::exception& error) {
    std::throw_with_nested(RankError(fmt::format("rank {}: {}", rank, error.what())));
  } catch (...) {
    std::throw_with_nested(
        RankError(fmt::format("rank {}: an exception that is no std::exception", rank)));
  }
}

}  // namespace

Session::Session(const SessionOptions& options) : options_(options) {
  refuse_unknown_environment();
  machine_ = find_machine();
  devices_ = take_devices(machine_, device_count_from(options, machine_));
  deadline_ = deadline_from(options);
  memory_limit_ = options.memory_limit.value_or(
      machine_.memory_bytes > 0 ? machine_.memory_bytes / device_count() : Arena::no_limit);
  owns_kokkos_ = !compat::kokkos_is_initialized();
  if (owns_kokkos_) compat::initialize_kokkos();
  try {
    // Last, because it may measure.
    gemm_ = options.gemm ? kernels::GemmChoice{*options.gemm, "the program says so"}
                         : kernels::choose_gemm_backend();
  } catch (...) {
    // No destructor runs for a session that was not made.
    if (owns_kokkos_) Kokkos::finalize();
    throw;
  }
}

Session::~Session() {
  // A thread that was left behind may still be inside a kernel.
  if (owns_kokkos_ && !has_stuck_rank_) Kokkos::finalize();
}

void Session::run(const Mesh& mesh, const std::function<void(Rank&)>& function) {
  if (mesh.size() > device_count()) {
    throw ConfigurationError(fmt::format(
        "the mesh {} needs {} devices, this session has {}; use a smaller mesh or more devices",
        to_string(mesh), mesh.size(), device_count()));
  }
  const bool shared = devices_.front().is_shared;
  const auto run = std::make_shared<Run>(
      mesh, in_process::WorldOptions{.deadline = deadline_, .ranks_share_cores = shared}, function);
  const int cores = static_cast<int>(machine_.devices.size());
  const DeviceOptions device_options{.memory_limit = memory_limit_,
                                     .gemm = gemm_.backend,
                                     .spare_cores = std::max(0, cores - mesh.size())};
  const bool pin = options_.pin_threads && !shared;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    try {
      threads.emplace_back(
          [run, rank, pin, device_options, device = devices_[static_cast<std::size_t>(rank)]] {
            run_rank(*run, rank, device, pin, device_options);
          });
    } catch (const std::system_error& error) {
      // The ranks that did start end at their next collective.
      run->fail(rank, std::current_exception(), error.what());
      run->end(rank);
    }
  }

  std::unique_lock lock(run->mutex);
  run->changed.wait(lock, [&] { return run->running == 0 || run->first_cause; });
  const bool all_ended =
      run->changed.wait_for(lock, options_.grace, [&] { return run->running == 0; });
  if (!all_ended) {
    has_stuck_rank_ = true;
    for (std::thread& thread : threads) thread.detach();
    throw StuckRankError(fmt::format(
        "rank {} did not end within {} ms after the first failure ({}); its thread is left behind, "
        "end the process",
        run->ranks_still_running(), options_.grace.count(), run->world.cause()));
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  if (run->first_cause) rethrow_with_rank(run->first_cause, run->first_rank);
}

}  // namespace kolam

/// \file
/// Runs a function on every rank, under a watchdog: a test that hangs ends the program with its
/// name.
///
/// The suite in `collectives.cpp` knows `run_on_ranks` only. To run it over another communicator,
/// link it with another definition of that function.
#pragma once

#include <kolam/parallel/communicator.hpp>
#include <kolam/parallel/in_process/world.hpp>

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace kolam::testing {

using RankFunction = std::function<void(Communicator&)>;

/// Runs `function` once for each rank of the mesh. An exception of a rank fails the test.
void run_on_ranks(const Mesh& mesh, const RankFunction& function);

/// Runs `function` on one thread per rank of the world and returns what each threw. As a session
/// does, a rank that throws something else than a consequence aborts the world, and a rank that
/// returns is reported as finished.
std::vector<std::exception_ptr> run_and_catch(in_process::World& world, const Mesh& mesh,
                                              const RankFunction& function);

/// The message of an exception, `nothing` without one.
std::string message_of(const std::exception_ptr& error);

/// Whether the exception is an `E`.
template <class E>
bool is_a(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace kolam::testing

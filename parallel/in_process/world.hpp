/// \file
/// The ranks of one process: threads that exchange data through each other's memory.
///
/// One `World` is shared by all rank threads of a run; each rank takes its `Communicator` from it
/// and uses it on its own thread. A group of ranks is set up on first use.
///
/// Once anything has failed (a rank called `abort`, calls did not match, a deadline passed, a rank
/// ended while others waited for it, ranks wait for each other in different collectives) the world
/// stays failed: every waiting and every later collective throws, with the first cause. A
/// collective that all members of its group have entered alike is completed first, so no rank reads
/// or writes the memory of a rank that has left.
#pragma once

#include <kolam/core/array/mesh.hpp>
#include <kolam/core/error.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace kolam {
class Communicator;
}

namespace kolam::in_process {

struct WorldOptions {
  /// How long a rank waits in a collective for the others.
  std::chrono::milliseconds deadline{60000};
  /// Ranks that share a core block at once instead of spinning, which would keep the rank they wait
  /// for from running.
  bool ranks_share_cores = false;
  /// How long a rank spins before it blocks.
  std::chrono::microseconds spin{50};
};

/// Thrown out of collectives after another rank called `World::abort`: a consequence, not a cause.
class Aborted : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

class State;

class World {
 public:
  /// \throws ConfigurationError for more than 4096 ranks, a deadline that is not positive, or a
  ///   device whose memory the host cannot read.
  explicit World(Mesh mesh, const WorldOptions& options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The communicator of one rank, to be used by that rank's thread only. It may outlive the world.
  /// \throws ConfigurationError if the mesh has no such rank.
  std::unique_ptr<Communicator> communicator(int rank);

  /// Ends all collectives because `rank` failed; the first cause wins, later calls change nothing.
  void abort(int rank, std::string cause_text) noexcept;
  /// `rank` makes no further collectives: whoever waits for it gets an error at once.
  void finished(int rank) noexcept;

  /// Whether anything has failed.
  bool aborted() const noexcept;
  /// What failed first, with the rank's name; empty if nothing has.
  std::string cause() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kolam::in_process

/// \file
/// Ranks that are processes: the `Communicator` over MPI.
///
/// Every call first exchanges its fingerprint with the other members of its group, which is also
/// the meeting point: calls that do not match are an error on every member, and a member that does
/// not come until the deadline, or has ended, is named. Then data is exchanged, everything with
/// non-blocking point-to-point calls under the same deadline, in chunks that MPI's 32-bit counts
/// can take. Reductions add in the order of the contract, so the bits are those of threads.
///
/// Once anything has failed the communicators of these processes are of no further use, and
/// `MPI_Finalize` may wait for messages that never come: end with `MPI_Abort`.
#pragma once

#include <kolam/core/error.hpp>
#include <kolam/parallel/communicator.hpp>

#include <mpi.h>

#include <chrono>
#include <memory>
#include <string>

namespace kolam::mpi {

struct CommunicatorOptions {
  /// How long a rank waits in a collective for the others.
  std::chrono::milliseconds deadline{60000};
};

/// Thrown out of collectives after another rank has called `abort`: a consequence, not a cause.
class Aborted : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

class MpiCommunicator final : public Communicator {
 public:
  /// Collective over `parent`, which is duplicated. Rank i of the mesh is rank i of `parent`.
  /// \throws ConfigurationError if the mesh has another number of ranks than `parent`, or MPI is
  /// not
  ///   initialized.
  MpiCommunicator(MPI_Comm parent, Mesh mesh, const CommunicatorOptions& options = {});
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  const Mesh& mesh() const override;
  int rank() const override;

  void allreduce(const ExecutionSpace& space, const CollectiveId& id, ReduceOperation operation,
                 Buffer data) override;
  void allgather(const ExecutionSpace& space, const CollectiveId& id, ConstBuffer send,
                 Buffer receive) override;
  void reduce_scatter(const ExecutionSpace& space, const CollectiveId& id,
                      ReduceOperation operation, ConstBuffer send, Buffer receive) override;
  void broadcast(const ExecutionSpace& space, const CollectiveId& id, int root,
                 Buffer data) override;
  void permute(const ExecutionSpace& space, const CollectiveId& id, std::span<const Route> routes,
               ConstBuffer send, Buffer receive) override;
  void barrier(const ExecutionSpace& space, const CollectiveId& id) override;

  /// Tells all others that this rank failed; whoever waits, or waits later, throws `Aborted`.
  void abort(const std::string& cause) noexcept;
  /// Tells all others that this rank makes no further collectives.
  void finished() noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace kolam::mpi

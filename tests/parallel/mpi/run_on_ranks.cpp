// The same suite over processes: every process is one rank.
#include "parallel/in_process/run_on_ranks.hpp"

#include <gtest/gtest.h>

#include <kolam/parallel/mpi/communicator.hpp>

#include <memory>

namespace kolam::testing {

namespace {

/// The first `ranks` processes; no communicator on the others.
MPI_Comm first_processes(int ranks) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &part);
  return part;
}

}  // namespace

/// Meshes of more ranks than there are processes are left to a run with more of them.
void run_on_ranks(const Mesh& mesh, const RankFunction& function) {
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (mesh.size() > processes) return;
  MPI_Comm part = first_processes(mesh.size());
  if (part == MPI_COMM_NULL) return;
  {
    mpi::MpiCommunicator communicator(part, mesh, {.deadline = std::chrono::seconds(30)});
    try {
      function(communicator);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << communicator.rank() << ": " << error.what();
      communicator.abort(error.what());
    }
  }
  MPI_Comm_free(&part);
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

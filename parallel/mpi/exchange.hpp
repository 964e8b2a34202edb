/// \file
/// Point-to-point messages under a deadline: what the collectives over MPI are made of.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kolam::mpi {

/// \throws CommunicationError with MPI's own text, unless the code is MPI_SUCCESS.
void check(int code, const char* call);

/// Non-blocking sends and receives that are waited for together.
class Exchange {
 public:
  explicit Exchange(MPI_Comm communicator) : communicator_(communicator) {}
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// The memory must stay until `wait` has returned.
  void send(const void* data, std::int64_t bytes, int rank, int tag);
  void receive(void* data, std::int64_t bytes, int rank, int tag);

  /// Waits for all. While it waits, `poll` is called, which may throw; after `deadline` it returns
  /// false, and `unfinished` names the ranks whose messages have not come.
  bool wait(std::chrono::steady_clock::time_point deadline, const std::function<void()>& poll);
  /// Ranks from which something has not been received yet, in ascending order, each once.
  std::vector<int> unfinished() const;

 private:
  MPI_Comm communicator_;
  std::vector<MPI_Request> requests_;
  /// The rank that a request receives from; -1 for a send.
  std::vector<int> sources_;
  std::vector<int> indices_;
};

}  // namespace kolam::mpi

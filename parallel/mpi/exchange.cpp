#include <kolam/parallel/mpi/exchange.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>
#include <kolam/parallel/chunks.hpp>

#include <algorithm>
#include <thread>

namespace kolam::mpi {

namespace {

/// Of one MPI call; its counts are 32-bit.
constexpr std::int64_t largest_message = std::int64_t{1} << 30;

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommunicationError(fmt::format("{} failed with code {}: {}", call, code,
                                       std::string(text, static_cast<std::size_t>(length))));
}

Exchange::~Exchange() {
  // What did not complete refers to memory that is about to go.
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

void Exchange::send(const void* data, std::int64_t bytes, int rank, int tag) {
  for (const Chunk& chunk : chunks(bytes, largest_message)) {
    requests_.push_back(MPI_REQUEST_NULL);
    sources_.push_back(-1);
    check(MPI_Isend(static_cast<const char*>(data) + chunk.offset, static_cast<int>(chunk.length),
                    MPI_BYTE, rank, tag, communicator_, &requests_.back()),
          "MPI_Isend");
  }
}

void Exchange::receive(void* data, std::int64_t bytes, int rank, int tag) {
  for (const Chunk& chunk : chunks(bytes, largest_message)) {
    requests_.push_back(MPI_REQUEST_NULL);
    sources_.push_back(rank);
    check(MPI_Irecv(static_cast<char*>(data) + chunk.offset, static_cast<int>(chunk.length),
                    MPI_BYTE, rank, tag, communicator_, &requests_.back()),
          "MPI_Irecv");
  }
}

bool Exchange::wait(std::chrono::steady_clock::time_point deadline,
                    const std::function<void()>& poll) {
  // Spinning is right while the others are about to come, and wrong where ranks share a core.
  constexpr int spins = 200;
  indices_.resize(requests_.size());
  for (int round = 0;; ++round) {
    // Not MPI_Testall, which tells nothing about single requests until all are complete.
    int completed = 0;
    check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &completed,
                       indices_.data(), MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    if (std::ranges::all_of(requests_, [](MPI_Request r) { return r == MPI_REQUEST_NULL; })) {
      return true;
    }
    poll();
    if (round < spins) continue;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
}

std::vector<int> Exchange::unfinished() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] != MPI_REQUEST_NULL && sources_[i] >= 0) ranks.push_back(sources_[i]);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace kolam::mpi

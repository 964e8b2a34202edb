/// \file
/// What the ranks of a world share: who is in which collective, how they meet, and what failed.
///
/// A collective is `enter`, `meet`, `check_match`, the work on the members' memory, `leave`:
/// - `meet` and what precedes it throw, with nobody's memory touched;
/// - once `meet` has returned all members are inside, and if their calls match each does its work
///   and waits in `leave` for the others: neither a failure elsewhere nor a deadline ends that, so
///   no rank is in the memory of one that has left.
#pragma once

#include <kolam/parallel/call.hpp>
#include <kolam/parallel/in_process/rendezvous.hpp>
#include <kolam/parallel/in_process/world.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kolam::in_process {

using collective::Call;
using collective::StoredCall;

/// Ranks that meet in collectives.
struct Group {
  explicit Group(std::vector<int> ranks)
      : members(std::move(ranks)), rendezvous(static_cast<int>(members.size())) {}

  /// In ascending order.
  const std::vector<int> members;
  Rendezvous rendezvous;
  /// Members that block, or are about to.
  std::atomic<int> sleepers{0};
  /// Used with the state's mutex.
  std::condition_variable changed;
};

class State {
 public:
  using Clock = std::chrono::steady_clock;

  State(Mesh mesh, const WorldOptions& options);

  const Mesh& mesh() const { return mesh_; }
  /// The group of these ranks (in ascending order); made on first use.
  Group& group(const std::vector<int>& members);

  /// Publishes the call and the memory of `rank`. \throws CommunicationError if the world failed.
  void enter(int rank, Group& group, const Call& call, const void* send, void* receive);
  /// Waits until all members have entered. \throws CommunicationError
  void meet(int rank, Group& group);
  /// Between `meet` and `leave`. \throws CommunicationError, the same on every member, unless all
  /// members made the same call.
  void check_match(int rank, const Group& group);
  /// Waits until all members have done their work.
  void leave(int rank, Group& group) noexcept;

  /// Memory that a member has published; valid between `meet` and `leave`.
  const void* sent_by(int rank) const { return record(rank).send; }
  void* received_by(int rank) const { return record(rank).receive; }

  void abort(int rank, std::string text) noexcept;
  void finished(int rank) noexcept;
  bool failed() const noexcept { return failed_.load(); }
  std::string cause() const;

 private:
  struct alignas(64) Record {
    /// Guards the call, its number and its time against ranks that describe them in a message.
    mutable std::mutex mutex;
    StoredCall call;
    std::uint64_t sequence = 0;
    std::uint64_t calls = 0;
    Clock::time_point entered;
    std::atomic<const Group*> inside{nullptr};

    const void* send = nullptr;
    void* receive = nullptr;

    /// Guarded by the state's mutex: the group in whose `meet` the rank blocks, and whether the
    /// rank makes no further collective.
    const Group* blocked_in = nullptr;
    std::uint64_t blocked_generation = 0;
    bool has_ended = false;
  };

  struct Failure {
    bool is_abort = false;
    int rank = 0;
    std::string text;
  };

  Record& record(int rank) { return records_[static_cast<std::size_t>(rank)]; }
  const Record& record(int rank) const { return records_[static_cast<std::size_t>(rank)]; }

  // Those named `..._locked` need the state's mutex.
  [[noreturn]] void throw_failure_locked() const;
  void fail_locked(Failure failure);
  /// Why `rank` can wait no longer in `group`; none if it can.
  std::optional<std::string> problem_locked(int rank, const Group& group, bool deadline_passed);
  bool is_blocked_locked(int rank) const;
  /// Ranks that wait for each other in different groups, starting with `rank`; empty if none.
  std::vector<int> cycle_locked(int rank) const;
  bool find_cycle_locked(int start, int rank, std::vector<char>& seen,
                         std::vector<int>& path) const;

  void block(int rank, Group& group, std::uint64_t generation);
  void wake(Group& group) noexcept;
  std::string describe_rank_locked(int rank) const;
  std::string describe_all_locked() const;

  Mesh mesh_;
  WorldOptions options_;
  std::vector<Record> records_;
  std::atomic<bool> failed_{false};

  mutable std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<Group>> groups_;
  Failure failure_;
};

}  // namespace kolam::in_process

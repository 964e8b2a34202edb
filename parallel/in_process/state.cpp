#include <fmt/format.h>
#include <kolam/parallel/in_process/state.hpp>

#include <algorithm>
#include <string_view>

namespace kolam::in_process {

using collective::describe;
using collective::differences;

namespace {

constexpr std::chrono::seconds longest_deadline{1'000'000'000};

/// `rank 1`, `ranks 1, 2`.
std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  }
  return text;
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

WorldOptions checked(const Mesh& mesh, WorldOptions options) {
  if constexpr (!device_memory_is_host_accessible) {
    throw ConfigurationError(
        "ranks that are threads of one process need device memory that the host can read; start "
        "one process per device");
  }
  if (mesh.size() > Rendezvous::max_members) {
    throw ConfigurationError(fmt::format("the mesh {} has {} ranks; one process takes at most {}",
                                         to_string(mesh), mesh.size(), Rendezvous::max_members));
  }
  if (options.deadline.count() <= 0) {
    throw ConfigurationError(fmt::format(
        "the deadline of collectives is {} ms; expected more than 0", options.deadline.count()));
  }
  // A longer one would overflow the clock.
  options.deadline = std::min<std::chrono::milliseconds>(options.deadline, longest_deadline);
  if (options.ranks_share_cores) options.spin = std::chrono::microseconds(0);
  return options;
}

}  // namespace

State::State(Mesh mesh, const WorldOptions& options)
    : mesh_(std::move(mesh)),
      options_(checked(mesh_, options)),
      records_(static_cast<std::size_t>(mesh_.size())) {}

Group& State::group(const std::vector<int>& members) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Group>& entry = groups_[members];
  if (!entry) entry = std::make_unique<Group>(members);
  return *entry;
}

void State::enter(int rank, Group& group, const Call& call, const void* send, void* receive) {
  if (failed()) {
    const std::scoped_lock lock(mutex_);
    throw_failure_locked();
  }
  Record& mine = record(rank);
  const std::scoped_lock lock(mine.mutex);
  mine.call.store(call);
  mine.sequence = group.rendezvous.generation() / 2 + 1;  // a collective meets twice
  ++mine.calls;
  mine.entered = Clock::now();
  mine.send = send;
  mine.receive = receive;
  mine.inside.store(&group);
}

void State::meet(int rank, Group& group) {
  const Rendezvous::Arrival arrival = group.rendezvous.arrive();
  if (arrival.is_broken) {
    const std::scoped_lock lock(mutex_);
    throw_failure_locked();
  }
  if (arrival.is_last) return wake(group);
  if (group.rendezvous.spin(arrival.generation, options_.spin)) return;
  block(rank, group, arrival.generation);
}

void State::block(int rank, Group& group, std::uint64_t generation) {
  Record& mine = record(rank);
  const Clock::time_point deadline = mine.entered + options_.deadline;
  std::unique_lock lock(mutex_);
  mine.blocked_in = &group;
  mine.blocked_generation = generation;
  ++group.sleepers;
  while (group.rendezvous.generation() == generation) {
    const std::optional<std::string> problem =
        problem_locked(rank, group, Clock::now() >= deadline);
    if (problem && group.rendezvous.break_in(generation)) {
      fail_locked({.is_abort = false, .rank = rank, .text = *problem});
      --group.sleepers;
      mine.blocked_in = nullptr;
      throw_failure_locked();
    }
    if (!problem) group.changed.wait_until(lock, deadline);
  }
  --group.sleepers;
  mine.blocked_in = nullptr;
}

std::optional<std::string> State::problem_locked(int rank, const Group& group,
                                                 bool deadline_passed) {
  if (failed()) return failure_.text;
  std::vector<int> missing;
  for (const int member : group.members) {
    const Record& other = record(member);
    if (other.has_ended) {
      return fmt::format(
          "rank {} has ended after {} collectives and rank {} waits for it; every rank of a group "
          "must make the same collectives: {}",
          member, other.calls, rank, describe_all_locked());
    }
    if (other.inside.load() != &group) missing.push_back(member);
  }
  const std::vector<int> cycle = cycle_locked(rank);
  if (!cycle.empty()) {
    return fmt::format(
        "{} wait for each other in different collectives; every rank of a group must make the same "
        "collectives in the same order over the same axes: {}",
        name_ranks(cycle), describe_all_locked());
  }
  // Without anyone missing the last member is just arriving.
  if (!deadline_passed || missing.empty()) return std::nullopt;
  return fmt::format(
      "rank {} waited for {} until the deadline of {:.3f} s passed; look for what keeps it from "
      "the "
      "collective, or set a longer deadline: {}",
      rank, name_ranks(missing), seconds(options_.deadline), describe_all_locked());
}

bool State::is_blocked_locked(int rank) const {
  const Record& it = record(rank);
  return it.blocked_in != nullptr &&
         it.blocked_in->rendezvous.generation() == it.blocked_generation;
}

std::vector<int> State::cycle_locked(int rank) const {
  std::vector<char> seen(records_.size(), 0);
  std::vector<int> path;
  find_cycle_locked(rank, rank, seen, path);
  return path;
}

// A rank that blocks in one group keeps every other group of its own waiting. The ranks' notes of
// where they block change under the mutex only, so those that are still valid when they are read
// all held when the mutex was taken: a cycle among them cannot dissolve.
bool State::find_cycle_locked(int start, int rank, std::vector<char>& seen,
                              std::vector<int>& path) const {
  seen[static_cast<std::size_t>(rank)] = 1;
  path.push_back(rank);
  const Group* const group = record(rank).blocked_in;
  for (const int member : group->members) {
    if (!is_blocked_locked(member) || record(member).blocked_in == group) continue;
    if (member == start) return true;
    if (seen[static_cast<std::size_t>(member)] != 0) continue;
    if (find_cycle_locked(start, member, seen, path)) return true;
  }
  path.pop_back();
  return false;
}

void State::check_match(int rank, const Group& group) {
  // Members read each other's records here without a lock: nobody changes one before all have left
  // the collective, or, after a mismatch, ever again.
  const Call& first = record(group.members.front()).call.get();
  std::string differing;
  for (const int member : group.members) {
    const std::string found = differences(first, record(member).call.get());
    if (differing.empty()) differing = found;
  }
  if (differing.empty()) return;
  std::string calls;
  for (const int member : group.members) {
    calls += fmt::format("{}rank {} called #{} {}", calls.empty() ? "" : "; ", member,
                         record(member).sequence, describe(record(member).call.get()));
  }
  const std::string text = fmt::format(
      "collectives do not match in their {}: {}; every rank of a group must make the same "
      "collectives in the same order",
      differing, calls);
  {
    const std::scoped_lock lock(mutex_);
    fail_locked({.is_abort = false, .rank = rank, .text = text});
  }
  throw CommunicationError(text);
}

void State::leave(int rank, Group& group) noexcept {
  const Rendezvous::Arrival arrival = group.rendezvous.arrive();
  if (arrival.is_last) {
    wake(group);
  } else if (!group.rendezvous.spin(arrival.generation, options_.spin)) {
    std::unique_lock lock(mutex_);
    ++group.sleepers;
    group.changed.wait(lock, [&] { return group.rendezvous.generation() != arrival.generation; });
    --group.sleepers;
  }
  record(rank).inside.store(nullptr);
}

void State::wake(Group& group) noexcept {
  if (group.sleepers.load() == 0) return;
  // Through the mutex, so that a member between its last look and its sleep is not missed.
  { const std::scoped_lock lock(mutex_); }
  group.changed.notify_all();
}

void State::abort(int rank, std::string text) noexcept {
  const std::scoped_lock lock(mutex_);
  fail_locked({.is_abort = true, .rank = rank, .text = std::move(text)});
}

void State::finished(int rank) noexcept {
  const std::scoped_lock lock(mutex_);
  record(rank).has_ended = true;
  for (const auto& [members, group] : groups_) group->changed.notify_all();
}

void State::fail_locked(Failure failure) {
  if (failed_.load()) return;
  failure_ = std::move(failure);
  failed_.store(true);
  for (const auto& [members, group] : groups_) group->changed.notify_all();
}

void State::throw_failure_locked() const {
  if (!failure_.is_abort) throw CommunicationError(failure_.text);
  throw Aborted(fmt::format("collectives ended because rank {} failed first: {}", failure_.rank,
                            failure_.text));
}

std::string State::cause() const {
  const std::scoped_lock lock(mutex_);
  if (!failure_.is_abort) return failure_.text;
  return fmt::format("rank {}: {}", failure_.rank, failure_.text);
}

std::string State::describe_rank_locked(int rank) const {
  const Record& it = record(rank);
  const std::scoped_lock lock(it.mutex);
  const std::string_view ended = it.has_ended ? ", has ended" : "";
  if (it.calls == 0) return fmt::format("rank {}: no collective yet{}", rank, ended);
  return fmt::format("rank {}: #{} {}, {} {:.3f} s ago{}", rank, it.sequence,
                     describe(it.call.get()),
                     it.inside.load() != nullptr ? "waiting since" : "entered",
                     seconds(Clock::now() - it.entered), ended);
}

std::string State::describe_all_locked() const {
  std::string text;
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    text += fmt::format("{}{}", rank == 0 ? "" : "; ", describe_rank_locked(rank));
  }
  return text;
}

}  // namespace kolam::in_process

#include <kolam/parallel/mpi/communicator.hpp>

#include <fmt/format.h>
#include <kolam/parallel/call.hpp>
#include <kolam/parallel/call_checks.hpp>
#include <kolam/parallel/chunks.hpp>
#include <kolam/parallel/mpi/exchange.hpp>
#include <kolam/parallel/reduce.hpp>

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <vector>

namespace kolam::mpi {

using namespace collective;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int fingerprint_tag = 1;
constexpr int data_tag = 2;
constexpr int result_tag = 3;
constexpr int notice_tag = 4;

/// A call as it crosses processes. Routes travel as a count and a hash.
struct Fingerprint {
  std::uint64_t sequence = 0;
  std::int64_t count = 0;
  std::uint64_t routes = 0;
  std::int32_t root = 0;
  Kind kind = Kind::barrier;
  ReduceOperation reduction = ReduceOperation::sum;
  ScalarType type = ScalarType::f32;
  Axes axes;
  char label[96] = {};
};

/// FNV-1a over the pairs.
std::uint64_t hash_of(std::span<const Route> routes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Route& route : routes) {
    for (const int value : {route.source, route.target}) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3u;
    }
  }
  return hash;
}

Fingerprint fingerprint_of(const Call& call, std::uint64_t sequence) {
  Fingerprint print;
  print.sequence = sequence;
  print.count = call.count;
  print.routes = hash_of(call.routes);
  print.root = call.root;
  print.kind = call.collective;
  print.reduction = call.reduction;
  print.type = call.type;
  print.axes = call.id.axes;
  const std::size_t length = std::min(call.id.label.size(), sizeof print.label - 1);
  std::memcpy(print.label, call.id.label.data(), length);
  return print;
}

/// The call that a fingerprint stands for, without its routes.
Call call_of(const Fingerprint& print) {
  return {.collective = print.kind,
          .reduction = print.reduction,
          .type = print.type,
          .count = print.count,
          .root = print.root,
          .id = {print.axes, print.label}};
}

/// That a rank failed, or makes no further collectives.
struct Notice {
  enum class Kind : std::int32_t { failed, finished };
  Kind kind = Kind::failed;
  char text[1000] = {};
};

std::int64_t bytes_of(std::int64_t count, ScalarType type) {
  return byte_count(count, type);
}

char* at(void* data, std::int64_t bytes) {
  return bytes == 0 ? static_cast<char*>(data) : static_cast<char*>(data) + bytes;
}

const char* at(const void* data, std::int64_t bytes) {
  return bytes == 0 ? static_cast<const char*>(data) : static_cast<const char*>(data) + bytes;
}

void copy(void* target, const void* source, std::int64_t bytes) {
  if (bytes > 0 && target != source) {
    std::memmove(target, source, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

class MpiCommunicator::State {
 public:
  State(MPI_Comm parent, Mesh mesh, const CommunicatorOptions& options)
      : mesh_(std::move(mesh)), options_(options) {
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized == 0) {
      throw ConfigurationError("MPI is not initialized; call MPI_Init before");
    }
    int size = 0;
    check(MPI_Comm_size(parent, &size), "MPI_Comm_size");
    if (size != mesh_.size()) {
      throw ConfigurationError(
          fmt::format("the mesh {} has {} ranks, MPI's communicator {}; make "
                      "them equal",
                      to_string(mesh_), mesh_.size(), size));
    }
    check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
    has_finished_.assign(static_cast<std::size_t>(size), 0);
  }

  ~State() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    // Freeing is collective, and others may still be in it where one has failed or left early.
    if (is_finalized == 0 && notices_.empty() && cause_.empty()) MPI_Comm_free(&communicator_);
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// This rank's place in a group.
  struct Group {
    Axes axes;
    /// In the order of their coordinates along the axes.
    std::vector<int> ranks;
    int index = 0;
    std::uint64_t calls = 0;

    int size() const { return static_cast<int>(ranks.size()); }
  };

  Group& group(const CollectiveId& id) {
    for (const auto& known : groups_) {
      if (known->axes == id.axes) return *known;
    }
    check_axes(id);
    auto made = std::make_unique<Group>();
    made->axes = id.axes;
    made->ranks = mesh_.group(rank_, id.axes);
    made->index = static_cast<int>(std::ranges::find(made->ranks, rank_) - made->ranks.begin());
    groups_.push_back(std::move(made));
    return *groups_.back();
  }

  /// Exchanges fingerprints with the group: afterwards all are in this call.
  void meet(Group& group, const Call& call) {
    throw_if_failed();
    deadline_ = Clock::now() + options_.deadline;
    call_text_ = describe(call);
    const std::uint64_t sequence = ++group.calls;
    std::vector<Fingerprint> prints(group.ranks.size());
    const Fingerprint mine = fingerprint_of(call, sequence);
    prints[static_cast<std::size_t>(group.index)] = mine;
    {
      Exchange exchange(communicator_);
      for (std::size_t i = 0; i < prints.size(); ++i) {
        if (group.ranks[i] == rank_) continue;
        exchange.receive(&prints[i], sizeof(Fingerprint), group.ranks[i], fingerprint_tag);
        exchange.send(&mine, sizeof mine, group.ranks[i], fingerprint_tag);
      }
      finish(exchange);
    }
    check_match(group, prints);
  }

  /// Waits for messages of members that are all in this call, or about to be.
  void finish(Exchange& exchange) {
    const auto poll = [&] {
      read_notices();
      throw_if_failed();
      for (const int missing : exchange.unfinished()) {
        if (has_finished_[static_cast<std::size_t>(missing)] == 0) continue;
        fail(
            fmt::format("rank {} has ended and rank {} waits for it in {}; every rank of a group "
                        "must make the same collectives",
                        missing, rank_, call_text_));
      }
    };
    if (exchange.wait(deadline_, poll)) return;
    std::string names;
    for (const int missing : exchange.unfinished()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", missing);
    }
    fail(fmt::format(
        "rank {} waited for rank {} until the deadline of {:.3f} s passed, in {}; look "
        "for what keeps it from the collective, or set a longer deadline",
        rank_, names, std::chrono::duration<double>(options_.deadline).count(), call_text_));
  }

  MPI_Comm communicator() const { return communicator_; }
  const Mesh& mesh() const { return mesh_; }
  int rank() const { return rank_; }

  void notify(Notice::Kind kind, const std::string& text) noexcept {
    Notice notice;
    notice.kind = kind;
    std::memcpy(notice.text, text.data(), std::min(text.size(), sizeof notice.text - 1));
    notices_.push_back(notice);
    for (int other = 0; other < mesh_.size(); ++other) {
      if (other == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      // Nobody waits for it: it is small, and goes out at once or when the other asks.
      if (MPI_Isend(&notices_.back(), sizeof(Notice), MPI_BYTE, other, notice_tag, communicator_,
                    &request) == MPI_SUCCESS) {
        MPI_Request_free(&request);
      }
    }
  }

  void fail_because(const std::string& cause) noexcept {
    if (cause_.empty()) cause_ = cause;
  }

 private:
  [[noreturn]] void fail(const std::string& text) {
    fail_because(text);
    notify(Notice::Kind::failed, text);
    throw CommunicationError(text);
  }

  void throw_if_failed() const {
    if (!cause_.empty()) throw Aborted(cause_);
  }

  void read_notices() {
    for (;;) {
      int is_there = 0;
      MPI_Status status;
      check(MPI_Iprobe(MPI_ANY_SOURCE, notice_tag, communicator_, &is_there, &status),
            "MPI_Iprobe");
      if (is_there == 0) return;
      Notice notice;
      check(MPI_Recv(&notice, sizeof notice, MPI_BYTE, status.MPI_SOURCE, notice_tag, communicator_,
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
      if (notice.kind == Notice::Kind::finished) {
        has_finished_[static_cast<std::size_t>(status.MPI_SOURCE)] = 1;
      } else {
        fail_because(fmt::format("collectives ended because rank {} failed first: {}",
                                 status.MPI_SOURCE, notice.text));
      }
    }
  }

  void check_match(const Group& group, const std::vector<Fingerprint>& prints) {
    std::string differing;
    for (const Fingerprint& print : prints) {
      if (!differing.empty()) break;
      differing = differences(call_of(prints.front()), call_of(print));
      if (differing.empty() && print.routes != prints.front().routes) differing = "routes";
    }
    if (differing.empty()) return;
    std::string calls;
    for (std::size_t i = 0; i < prints.size(); ++i) {
      calls += fmt::format("{}rank {} called #{} {}", calls.empty() ? "" : "; ", group.ranks[i],
                           prints[i].sequence, describe(call_of(prints[i])));
    }
    fail(
        fmt::format("collectives do not match in their {}: {}; every rank of a group must make the "
                    "same collectives in the same order",
                    differing, calls));
  }

  Mesh mesh_;
  CommunicatorOptions options_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  Clock::time_point deadline_;
  std::string call_text_;
  std::string cause_;
  std::vector<char> has_finished_;
  /// Sent and not waited for, so they must stay.
  std::list<Notice> notices_;
};

MpiCommunicator::MpiCommunicator(MPI_Comm parent, Mesh mesh, const CommunicatorOptions& options)
    : state_(std::make_unique<State>(parent, std::move(mesh), options)) {}

MpiCommunicator::~MpiCommunicator() = default;

const Mesh& MpiCommunicator::mesh() const {
  return state_->mesh();
}

int MpiCommunicator::rank() const {
  return state_->rank();
}

void MpiCommunicator::abort(const std::string& cause) noexcept {
  state_->fail_because(cause);
  state_->notify(Notice::Kind::failed, cause);
}

void MpiCommunicator::finished() noexcept {
  state_->notify(Notice::Kind::finished, "");
}

// Each rank gets its share of all buffers, reduces it, and gives the result to all.
void MpiCommunicator::allreduce(const ExecutionSpace& space, const CollectiveId& id,
                                ReduceOperation operation, Buffer data) {
  check_memory(id, data.data, data.type, data.count);
  check_reduction(id, operation, data.type);
  State::Group& group = state_->group(id);
  space.fence();
  state_->meet(group, {.collective = Kind::allreduce,
                       .reduction = operation,
                       .type = data.type,
                       .count = data.count,
                       .id = id});
  const Share mine = share_of(data.count, data.type, group.index, group.size());
  const std::int64_t mine_bytes = bytes_of(mine.count, data.type);
  std::vector<char> parts(static_cast<std::size_t>(mine_bytes * group.size()));
  std::vector<const void*> sources(group.ranks.size());
  Exchange scatter(state_->communicator());
  Exchange gather(state_->communicator());
  for (int i = 0; i < group.size(); ++i) {
    const int other = group.ranks[static_cast<std::size_t>(i)];
    const Share theirs = share_of(data.count, data.type, i, group.size());
    char* const part = at(parts.data(), mine_bytes * i);
    sources[static_cast<std::size_t>(i)] = part;
    if (i == group.index) {
      copy(part, at(data.data, bytes_of(mine.offset, data.type)), mine_bytes);
      continue;
    }
    scatter.receive(part, mine_bytes, other, data_tag);
    scatter.send(at(data.data, bytes_of(theirs.offset, data.type)),
                 bytes_of(theirs.count, data.type), other, data_tag);
  }
  state_->finish(scatter);
  void* const target[] = {at(data.data, bytes_of(mine.offset, data.type))};
  reduce(data.type, operation, sources, 0, target, 0, mine.count);
  for (int i = 0; i < group.size(); ++i) {
    if (i == group.index) continue;
    const int other = group.ranks[static_cast<std::size_t>(i)];
    const Share theirs = share_of(data.count, data.type, i, group.size());
    gather.receive(at(data.data, bytes_of(theirs.offset, data.type)),
                   bytes_of(theirs.count, data.type), other, result_tag);
    gather.send(target[0], mine_bytes, other, result_tag);
  }
  state_->finish(gather);
}

void MpiCommunicator::allgather(const ExecutionSpace& space, const CollectiveId& id,
                                ConstBuffer send, Buffer receive) {
  check_memory(id, send.data, send.type, send.count);
  check_memory(id, receive.data, receive.type, receive.count);
  State::Group& group = state_->group(id);
  check_pair(id, group.size(), send.type, receive.type, send.count, receive.count);
  const std::int64_t bytes = bytes_of(send.count, send.type);
  check_overlap(id, send.data, receive.data, bytes, group.index, group.size());
  space.fence();
  state_->meet(group,
               {.collective = Kind::allgather, .type = send.type, .count = send.count, .id = id});
  Exchange exchange(state_->communicator());
  for (int i = 0; i < group.size(); ++i) {
    char* const block = at(receive.data, bytes * i);
    if (i == group.index) {
      copy(block, send.data, bytes);
      continue;
    }
    const int other = group.ranks[static_cast<std::size_t>(i)];
    exchange.receive(block, bytes, other, data_tag);
    exchange.send(send.data, bytes, other, data_tag);
  }
  state_->finish(exchange);
}

void MpiCommunicator::reduce_scatter(const ExecutionSpace& space, const CollectiveId& id,
                                     ReduceOperation operation, ConstBuffer send, Buffer receive) {
  check_memory(id, send.data, send.type, send.count);
  check_memory(id, receive.data, receive.type, receive.count);
  check_reduction(id, operation, send.type);
  State::Group& group = state_->group(id);
  check_pair(id, group.size(), send.type, receive.type, receive.count, send.count);
  const std::int64_t bytes = bytes_of(receive.count, receive.type);
  check_overlap(id, receive.data, send.data, bytes, group.index, group.size());
  space.fence();
  state_->meet(group, {.collective = Kind::reduce_scatter,
                       .reduction = operation,
                       .type = send.type,
                       .count = receive.count,
                       .id = id});
  std::vector<char> parts(static_cast<std::size_t>(bytes * group.size()));
  std::vector<const void*> sources(group.ranks.size());
  Exchange exchange(state_->communicator());
  for (int i = 0; i < group.size(); ++i) {
    char* const part = at(parts.data(), bytes * i);
    sources[static_cast<std::size_t>(i)] = part;
    const char* const block = at(send.data, bytes * i);
    if (i == group.index) {
      copy(part, block, bytes);
      continue;
    }
    const int other = group.ranks[static_cast<std::size_t>(i)];
    exchange.receive(part, bytes, other, data_tag);
    exchange.send(block, bytes, other, data_tag);
  }
  state_->finish(exchange);
  void* const target[] = {receive.data};
  reduce(send.type, operation, sources, 0, target, 0, receive.count);
}

void MpiCommunicator::broadcast(const ExecutionSpace& space, const CollectiveId& id, int root,
                                Buffer data) {
  check_memory(id, data.data, data.type, data.count);
  State::Group& group = state_->group(id);
  if (root < 0 || root >= group.size()) {
    refuse(id, fmt::format("root {} is not in the group of {} ranks", root, group.size()));
  }
  space.fence();
  state_->meet(group, {.collective = Kind::broadcast,
                       .type = data.type,
                       .count = data.count,
                       .root = root,
                       .id = id});
  const std::int64_t bytes = bytes_of(data.count, data.type);
  Exchange exchange(state_->communicator());
  if (group.index != root) {
    exchange.receive(data.data, bytes, group.ranks[static_cast<std::size_t>(root)], data_tag);
  } else {
    for (const int other : group.ranks) {
      if (other != state_->rank()) exchange.send(data.data, bytes, other, data_tag);
    }
  }
  state_->finish(exchange);
}

void MpiCommunicator::permute(const ExecutionSpace& space, const CollectiveId& id,
                              std::span<const Route> routes, ConstBuffer send, Buffer receive) {
  check_memory(id, send.data, send.type, send.count);
  check_memory(id, receive.data, receive.type, receive.count);
  check_pair(id, 1, send.type, receive.type, send.count, receive.count);
  State::Group& group = state_->group(id);
  check_routes(id, routes, group.size());
  const std::int64_t bytes = bytes_of(send.count, send.type);
  if (overlap(send.data, bytes, receive.data, bytes)) {
    refuse(id, "the buffers of a permute overlap; use separate ones");
  }
  space.fence();
  state_->meet(group, {.collective = Kind::permute,
                       .type = send.type,
                       .count = send.count,
                       .routes = routes,
                       .id = id});
  Exchange exchange(state_->communicator());
  bool is_target = false;
  for (const Route& route : routes) {
    if (route.source == group.index && route.target == group.index) {
      copy(receive.data, send.data, bytes);
      is_target = true;
      continue;
    }
    if (route.source == group.index) {
      exchange.send(send.data, bytes, group.ranks[static_cast<std::size_t>(route.target)],
                    data_tag);
    }
    if (route.target == group.index) {
      exchange.receive(receive.data, bytes, group.ranks[static_cast<std::size_t>(route.source)],
                       data_tag);
      is_target = true;
    }
  }
  if (!is_target && bytes > 0) std::memset(receive.data, 0, static_cast<std::size_t>(bytes));
  state_->finish(exchange);
}

void MpiCommunicator::barrier(const ExecutionSpace& space, const CollectiveId& id) {
  space.fence();
  state_->meet(state_->group(id), {.collective = Kind::barrier, .id = id});
}

}  // namespace kolam::mpi

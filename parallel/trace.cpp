#include <kolam/parallel/trace.hpp>

#include <kolam/parallel/chunks.hpp>
#include <kolam/parallel/rank.hpp>

#include <chrono>

namespace kolam {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Passes every call on and keeps a record of it.
class TracedCommunicator final : public Communicator {
 public:
  TracedCommunicator(Communicator& traced, std::vector<CollectiveRecord>& records)
      : traced_(traced), records_(records) {}

  const Mesh& mesh() const override { return traced_.mesh(); }
  int rank() const override { return traced_.rank(); }

  void allreduce(const ExecutionSpace& space, const CollectiveId& id, ReduceOperation operation,
                 Buffer data) override {
    keep(space, CollectiveKind::allreduce, id, byte_count(data.count, data.type),
         [&] { traced_.allreduce(space, id, operation, data); });
  }
  void allgather(const ExecutionSpace& space, const CollectiveId& id, ConstBuffer send,
                 Buffer receive) override {
    keep(space, CollectiveKind::allgather, id, byte_count(send.count, send.type),
         [&] { traced_.allgather(space, id, send, receive); });
  }
  void reduce_scatter(const ExecutionSpace& space, const CollectiveId& id,
                      ReduceOperation operation, ConstBuffer send, Buffer receive) override {
    keep(space, CollectiveKind::reduce_scatter, id, byte_count(receive.count, receive.type),
         [&] { traced_.reduce_scatter(space, id, operation, send, receive); });
  }
  void broadcast(const ExecutionSpace& space, const CollectiveId& id, int root,
                 Buffer data) override {
    keep(space, CollectiveKind::broadcast, id, byte_count(data.count, data.type),
         [&] { traced_.broadcast(space, id, root, data); });
  }
  void permute(const ExecutionSpace& space, const CollectiveId& id, std::span<const Route> routes,
               ConstBuffer send, Buffer receive) override {
    keep(space, CollectiveKind::permute, id, byte_count(send.count, send.type),
         [&] { traced_.permute(space, id, routes, send, receive); });
  }
  void barrier(const ExecutionSpace& space, const CollectiveId& id) override {
    keep(space, CollectiveKind::barrier, id, 0, [&] { traced_.barrier(space, id); });
  }

 private:
  template <class Call>
  void keep(const ExecutionSpace& space, CollectiveKind kind, const CollectiveId& id,
            std::int64_t bytes, const Call& call) {
    CollectiveRecord record{.kind = kind,
                            .label = std::string(id.label),
                            .axes = id.axes,
                            .group_size = traced_.mesh().group_size(id.axes),
                            .bytes = bytes};
    space.fence();
    const Clock::time_point arrived = Clock::now();
    // Twice: whoever slept in the first barrier takes a while to wake up.
    traced_.barrier(space, {id.axes, "trace/before a collective"});
    traced_.barrier(space, {id.axes, "trace/all awake"});
    record.waited_seconds = seconds_since(arrived);
    const Clock::time_point begun = Clock::now();
    call();
    space.fence();
    record.seconds = seconds_since(begun);
    records_.push_back(std::move(record));
  }

  Communicator& traced_;
  std::vector<CollectiveRecord>& records_;
};

}  // namespace

CollectiveTrace::CollectiveTrace(Rank& rank)
    : rank_(rank),
      traced_(std::make_unique<TracedCommunicator>(rank.communicator(), records_)),
      before_(&rank.communicator()) {
  rank_.use_communicator(*traced_);
}

CollectiveTrace::~CollectiveTrace() {
  rank_.use_communicator(*before_);
}

}  // namespace kolam

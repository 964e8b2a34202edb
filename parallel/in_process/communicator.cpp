#include <fmt/format.h>
#include <kolam/core/array/extents.hpp>
#include <kolam/parallel/call_checks.hpp>
#include <kolam/parallel/chunks.hpp>
#include <kolam/parallel/in_process/communicator.hpp>
#include <kolam/parallel/reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kolam::in_process {

using namespace collective;

namespace {

// memcpy and memset must not be given null, not even for no bytes.
void copy(void* target, const void* source, std::int64_t bytes) noexcept {
  if (bytes > 0 && target != source) {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
}

void clear(void* target, std::int64_t bytes) noexcept {
  if (bytes > 0) std::memset(target, 0, static_cast<std::size_t>(bytes));
}

std::byte* advance(void* data, std::int64_t bytes) {
  return bytes == 0 ? static_cast<std::byte*>(data) : static_cast<std::byte*>(data) + bytes;
}

}  // namespace

ThreadCommunicator::ThreadCommunicator(std::shared_ptr<State> state, int rank)
    : state_(std::move(state)), rank_(rank) {}

ThreadCommunicator::Membership& ThreadCommunicator::membership(const CollectiveId& id) {
  for (const auto& known : memberships_) {
    if (known->axes == id.axes) return *known;
  }
  check_axes(id);
  auto made = std::make_unique<Membership>();
  made->axes = id.axes;
  made->ranks = mesh().group(rank_, id.axes);
  made->index = static_cast<int>(std::ranges::find(made->ranks, rank_) - made->ranks.begin());
  made->sources.resize(made->ranks.size());
  made->targets.resize(made->ranks.size());
  // Axes in another order, or axes that the mesh lacks, give the same ranks: they meet in one
  // group, where their calls are compared.
  std::vector<int> ascending = made->ranks;
  std::ranges::sort(ascending);
  made->group = &state_->group(ascending);
  memberships_.push_back(std::move(made));
  return *memberships_.back();
}

template <class Work>
void ThreadCommunicator::collective(const ExecutionSpace& space, Membership& members,
                                    const Call& call, const void* send, void* receive,
                                    const Work& work) {
  static_assert(std::is_nothrow_invocable_v<Work>, "a rank must not unwind among the others");
  space.fence();
  state_->enter(rank_, *members.group, call, send, receive);
  state_->meet(rank_, *members.group);
  state_->check_match(rank_, *members.group);
  for (std::size_t i = 0; i < members.ranks.size(); ++i) {
    members.sources[i] = state_->sent_by(members.ranks[i]);
    members.targets[i] = state_->received_by(members.ranks[i]);
  }
  work();
  state_->leave(rank_, *members.group);
}

void ThreadCommunicator::allreduce(const ExecutionSpace& space, const CollectiveId& id,
                                   ReduceOperation operation, Buffer data) {
  check_memory(id, data.data, data.type, data.count);
  check_reduction(id, operation, data.type);
  Membership& members = membership(id);
  const Call call{.collective = Kind::allreduce,
                  .reduction = operation,
                  .type = data.type,
                  .count = data.count,
                  .id = id};
  collective(space, members, call, data.data, data.data, [&]() noexcept {
    if (members.size() == 1) return;
    const Share mine = share_of(data.count, data.type, members.index, members.size());
    reduce(data.type, operation, members.sources, mine.offset, members.targets, mine.offset,
           mine.count);
  });
}

void ThreadCommunicator::allgather(const ExecutionSpace& space, const CollectiveId& id,
                                   ConstBuffer send, Buffer receive) {
  check_memory(id, send.data, send.type, send.count);
  check_memory(id, receive.data, receive.type, receive.count);
  Membership& members = membership(id);
  check_pair(id, members.size(), send.type, receive.type, send.count, receive.count);
  const std::int64_t block = byte_count(send.count, send.type);
  check_overlap(id, send.data, receive.data, block, members.index, members.size());
  const Call call{.collective = Kind::allgather, .type = send.type, .count = send.count, .id = id};
  collective(space, members, call, send.data, receive.data, [&]() noexcept {
    // Each rank starts with another source, so that they do not all read the same memory at once.
    for (int step = 0; step < members.size(); ++step) {
      const int from = (members.index + step) % members.size();
      copy(advance(receive.data, block * from), members.sources[static_cast<std::size_t>(from)],
           block);
    }
  });
}

void ThreadCommunicator::reduce_scatter(const ExecutionSpace& space, const CollectiveId& id,
                                        ReduceOperation operation, ConstBuffer send,
                                        Buffer receive) {
  check_memory(id, send.data, send.type, send.count);
  check_memory(id, receive.data, receive.type, receive.count);
  check_reduction(id, operation, receive.type);
  Membership& members = membership(id);
  check_pair(id, members.size(), send.type, receive.type, receive.count, send.count);
  const std::int64_t block = byte_count(receive.count, receive.type);
  check_overlap(id, receive.data, send.data, block, members.index, members.size());
  const Call call{.collective = Kind::reduce_scatter,
                  .reduction = operation,
                  .type = receive.type,
                  .count = receive.count,
                  .id = id};
  collective(space, members, call, send.data, receive.data, [&]() noexcept {
    void* const target[] = {receive.data};
    reduce(receive.type, operation, members.sources, receive.count * members.index, target, 0,
           receive.count);
  });
}

void ThreadCommunicator::broadcast(const ExecutionSpace& space, const CollectiveId& id, int root,
                                   Buffer data) {
  check_memory(id, data.data, data.type, data.count);
  Membership& members = membership(id);
  if (root < 0 || root >= members.size()) {
    refuse(id, fmt::format("root {} is not in the group of {} ranks", root, members.size()));
  }
  const Call call{.collective = Kind::broadcast,
                  .type = data.type,
                  .count = data.count,
                  .root = root,
                  .id = id};
  collective(space, members, call, data.data, data.data, [&]() noexcept {
    copy(data.data, members.sources[static_cast<std::size_t>(root)],
         data.count * static_cast<std::int64_t>(size_of(data.type)));
  });
}

void ThreadCommunicator::permute(const ExecutionSpace& space, const CollectiveId& id,
                                 std::span<const Route> routes, ConstBuffer send, Buffer receive) {
  check_memory(id, send.data, send.type, send.count);
  check_memory(id, receive.data, receive.type, receive.count);
  check_pair(id, 1, send.type, receive.type, send.count, receive.count);
  Membership& members = membership(id);
  check_routes(id, routes, members.size());
  const std::int64_t bytes = byte_count(send.count, send.type);
  if (overlap(send.data, bytes, receive.data, bytes)) {
    refuse(id, "the buffers of a permute overlap; use separate ones");
  }
  const Call call{.collective = Kind::permute,
                  .type = send.type,
                  .count = send.count,
                  .routes = routes,
                  .id = id};
  collective(space, members, call, send.data, receive.data, [&]() noexcept {
    const auto to_me =
        std::ranges::find(routes, members.index, [](const Route& route) { return route.target; });
    if (to_me == routes.end()) return clear(receive.data, bytes);
    copy(receive.data, members.sources[static_cast<std::size_t>(to_me->source)], bytes);
  });
}

void ThreadCommunicator::barrier(const ExecutionSpace& space, const CollectiveId& id) {
  const Call call{.collective = Kind::barrier, .id = id};
  collective(space, membership(id), call, nullptr, nullptr, []() noexcept {});
}

}  // namespace kolam::in_process

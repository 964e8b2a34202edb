#include <fmt/format.h>
#include <kolam/core/array/extents.hpp>
#include <kolam/parallel/chunks.hpp>
#include <kolam/parallel/in_process/communicator.hpp>
#include <kolam/parallel/in_process/reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kolam::in_process {

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

const std::byte* advance(const void* data, std::int64_t bytes) {
  return bytes == 0 ? static_cast<const std::byte*>(data)
                    : static_cast<const std::byte*>(data) + bytes;
}

std::byte* advance(void* data, std::int64_t bytes) {
  return bytes == 0 ? static_cast<std::byte*>(data) : static_cast<std::byte*>(data) + bytes;
}

[[noreturn]] void refuse(const CollectiveId& id, std::string_view what) {
  throw ConfigurationError(fmt::format("collective \"{}\": {}", id.label, what));
}

void check_memory(const CollectiveId& id, const void* data, ScalarType type, std::int64_t count) {
  byte_count(count, type);
  if (data == nullptr && count > 0) {
    refuse(id, fmt::format("a buffer of {} elements has no memory; pass its data", count));
  }
}

/// Two buffers of which `larger` holds one block of the other's size for each member.
void check_pair(const CollectiveId& id, int members, ScalarType type, ScalarType other_type,
                std::int64_t block, std::int64_t larger) {
  if (type != other_type) {
    throw ShapeError(fmt::format("collective \"{}\": sends {} and receives {}; expected one type",
                                 id.label, name_of(type), name_of(other_type)));
  }
  const std::int64_t expected = checked_product(block, members);
  if (larger != expected) {
    throw ShapeError(fmt::format(
        "collective \"{}\": the buffer for all {} ranks has {} elements; expected {} ({} per rank)",
        id.label, members, larger, expected, block));
  }
}

bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b);
  return a_begin < b_begin + static_cast<std::uintptr_t>(b_bytes) &&
         b_begin < a_begin + static_cast<std::uintptr_t>(a_bytes);
}

/// A block may be this rank's own part of the larger buffer, and may not overlap it otherwise.
void check_overlap(const CollectiveId& id, const void* block, const void* larger,
                   std::int64_t bytes, int index, int members) {
  if (bytes == 0 || block == advance(larger, bytes * index)) return;
  if (overlap(block, bytes, larger, bytes * members)) {
    refuse(id, "the buffers overlap; use separate ones, or this rank's own block of the larger");
  }
}

void check_reduction(const CollectiveId& id, ReduceOperation operation, ScalarType type) {
  if (operation == ReduceOperation::mean && type != ScalarType::f32 && type != ScalarType::f64) {
    refuse(id, fmt::format("a mean of {} is not defined; sum, or convert to a floating-point type",
                           name_of(type)));
  }
}

void check_routes(const CollectiveId& id, std::span<const Route> routes, int members) {
  std::vector<char> sends(static_cast<std::size_t>(members), 0);
  std::vector<char> receives(static_cast<std::size_t>(members), 0);
  for (const Route& route : routes) {
    if (std::min(route.source, route.target) < 0 ||
        std::max(route.source, route.target) >= members) {
      refuse(id, fmt::format("route {}->{} leaves the group of {} ranks", route.source,
                             route.target, members));
    }
    char& source = sends[static_cast<std::size_t>(route.source)];
    char& target = receives[static_cast<std::size_t>(route.target)];
    if (source != 0 || target != 0) {
      refuse(id, fmt::format("route {}->{} uses a source or a target for the second time",
                             route.source, route.target));
    }
    source = target = 1;
  }
}

void check_axes(const CollectiveId& id) {
  for (int i = 0; i < id.axes.count; ++i) {
    for (int j = 0; j < i; ++j) {
      if (id.axes.names[i] == id.axes.names[j]) {
        refuse(id, fmt::format("axis \"{}\" is named twice", id.axes.names[i].view()));
      }
    }
  }
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
  const Call call{.collective = Collective::allreduce,
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
  const Call call{
      .collective = Collective::allgather, .type = send.type, .count = send.count, .id = id};
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
  const Call call{.collective = Collective::reduce_scatter,
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
  const Call call{.collective = Collective::broadcast,
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
  const Call call{.collective = Collective::permute,
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
  const Call call{.collective = Collective::barrier, .id = id};
  collective(space, membership(id), call, nullptr, nullptr, []() noexcept {});
}

}  // namespace kolam::in_process

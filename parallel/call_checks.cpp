#include <kolam/parallel/call_checks.hpp>

#include <fmt/format.h>
#include <kolam/core/array/extents.hpp>
#include <kolam/core/error.hpp>
#include <kolam/parallel/chunks.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kolam::collective {

namespace {

const std::byte* advance(const void* data, std::int64_t bytes) {
  return bytes == 0 ? static_cast<const std::byte*>(data)
                    : static_cast<const std::byte*>(data) + bytes;
}

}  // namespace

[[noreturn]] void refuse(const CollectiveId& id, std::string_view what) {
  throw ConfigurationError(fmt::format("collective \"{}\": {}", id.label, what));
}

void check_memory(const CollectiveId& id, const void* data, ScalarType type, std::int64_t count) {
  byte_count(count, type);
  if (data == nullptr && count > 0) {
    refuse(id, fmt::format("a buffer of {} elements has no memory; pass its data", count));
  }
}

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

}  // namespace kolam::collective

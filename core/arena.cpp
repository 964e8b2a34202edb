#include <kolam/core/arena.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <map>
#include <new>
#include <vector>

namespace kolam {
namespace detail {

struct BlockRecord {
  Kokkos::View<std::byte*, MemorySpace> storage;
  std::int64_t bytes = 0;
  int handles = 0;
  /// Null once the arena is gone.
  ArenaState* arena = nullptr;
};

struct ArenaState {
  std::int64_t limit = Arena::no_limit;
  std::int64_t in_use = 0;
  std::int64_t reserved = 0;
  std::int64_t peak = 0;
  std::vector<BlockRecord*> all;
  /// Free blocks by exact size. A size seen once keeps its (empty) list, so that steady state
  /// touches no allocator.
  std::map<std::int64_t, std::vector<BlockRecord*>> free;

  void give_back(BlockRecord* record) {
    in_use -= record->bytes;
    free[record->bytes].push_back(record);
  }
};

}  // namespace detail

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t rounded(std::int64_t bytes) {
  const std::int64_t at_least = std::max<std::int64_t>(bytes, alignment);
  if (at_least > Arena::no_limit - alignment) return at_least;
  return (at_least + alignment - 1) / alignment * alignment;
}

}  // namespace

Block::Block(const Block& other) noexcept : record_(other.record_) {
  if (record_ != nullptr) ++record_->handles;
}

Block::~Block() {
  if (record_ == nullptr || --record_->handles > 0) return;
  if (record_->arena != nullptr) {
    record_->arena->give_back(record_);
  } else {
    delete record_;
  }
}

void* Block::data() const {
  return record_ == nullptr ? nullptr : record_->storage.data();
}

bool Block::is_unique() const {
  return record_ != nullptr && record_->handles == 1;
}

Arena::Arena(std::int64_t limit_bytes) : state_(std::make_unique<detail::ArenaState>()) {
  state_->limit = limit_bytes;
}

Arena::~Arena() {
  for (detail::BlockRecord* record : state_->all) {
    record->storage = {};
    record->arena = nullptr;
    if (record->handles == 0) delete record;
  }
}

Block Arena::allocate(std::int64_t bytes, std::string_view what) {
  const std::int64_t size = rounded(bytes);
  auto& candidates = state_->free[size];
  detail::BlockRecord* record = nullptr;
  if (!candidates.empty()) {
    record = candidates.back();
    candidates.pop_back();
  } else {
    if (size > state_->limit - state_->reserved) trim();
    if (size > state_->limit - state_->reserved) {
      throw OutOfMemory(fmt::format(
          "device memory: {} needs {} bytes, {} of the limit of {} bytes are left; use a smaller "
          "batch or model, or raise the memory limit",
          what, size, state_->limit - state_->reserved, state_->limit));
    }
    auto fresh = std::make_unique<detail::BlockRecord>();
    try {
      fresh->storage = Kokkos::View<std::byte*, MemorySpace>(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "kolam::arena"),
          static_cast<std::size_t>(size));
    } catch (const std::exception&) {
      throw OutOfMemory(fmt::format(
          "device memory: {} needs {} bytes and the device has no such block left ({} bytes are "
          "taken by this rank); use a smaller batch or model",
          what, size, state_->reserved));
    }
    fresh->bytes = size;
    fresh->arena = state_.get();
    state_->all.push_back(fresh.get());
    state_->reserved += size;
    record = fresh.release();
  }
  record->handles = 1;
  state_->in_use += size;
  state_->peak = std::max(state_->peak, state_->in_use);
  return Block(record);
}

void Arena::trim() {
  auto& all = state_->all;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [this](detail::BlockRecord* record) {
                             if (record->handles > 0) return false;
                             state_->reserved -= record->bytes;
                             delete record;
                             return true;
                           }),
            all.end());
  for (auto& [size, blocks] : state_->free) blocks.clear();
}

std::int64_t Arena::limit() const {
  return state_->limit;
}
std::int64_t Arena::bytes_in_use() const {
  return state_->in_use;
}
std::int64_t Arena::bytes_reserved() const {
  return state_->reserved;
}
std::int64_t Arena::peak_bytes() const {
  return state_->peak;
}

}  // namespace kolam

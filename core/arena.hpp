/// \file
/// One device's memory: blocks that are handed out, counted and reused.
///
/// A training step asks for the same sizes every time, so after the first steps every request is
/// served from blocks that an earlier request gave back, and nothing is allocated. An arena belongs
/// to one rank: its counters are plain integers, and a `Block` must stay on that rank's thread.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

namespace kolam {

namespace detail {
struct ArenaState;
struct BlockRecord;
}  // namespace detail

/// Counted handle to a piece of an arena's memory; the piece goes back when the last handle goes.
/// Once the arena itself is gone its memory is freed and the handle is dead: it may be destroyed at
/// any later time, also after Kokkos was finalized, but `data()` is null.
class Block {
 public:
  Block() = default;
  Block(const Block& other) noexcept;
  Block(Block&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Block& operator=(Block other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Block();

  /// Start of the memory, aligned to 64 bytes; null for an empty or dead block.
  void* data() const;
  /// Whether this handle is the only one.
  bool is_unique() const;
  explicit operator bool() const { return record_ != nullptr; }

 private:
  friend class Arena;
  explicit Block(detail::BlockRecord* record) noexcept : record_(record) {}
  detail::BlockRecord* record_ = nullptr;
};

class Arena {
 public:
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  explicit Arena(std::int64_t limit_bytes = no_limit);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// At least `bytes` bytes, not initialized. `what` names the request in the error.
  /// \throws OutOfMemory if the limit does not hold it, with what was needed and what was left.
  Block allocate(std::int64_t bytes, std::string_view what);
  /// Frees every block that nobody holds.
  void trim();

  std::int64_t limit() const;
  /// Held by live blocks.
  std::int64_t bytes_in_use() const;
  /// Taken from the device: in use, or kept for reuse.
  std::int64_t bytes_reserved() const;
  /// Largest `bytes_in_use` so far.
  std::int64_t peak_bytes() const;

 private:
  std::unique_ptr<detail::ArenaState> state_;
};

}  // namespace kolam

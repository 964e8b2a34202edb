/// \file
/// Reverse-mode differentiation: the operations of one step, in the order they ran.
///
/// While a tape records, every operation adds an entry: what its backward pass needs, and the node
/// of its result. `backward` walks the entries in reverse. Gradients are added where they arrive:
/// the first arrival overwrites (`beta` 0), so nothing is zeroed beforehand, and later ones add
/// (`beta` 1). What an entry kept is released as soon as it ran, so memory falls during the
/// backward pass. A tape belongs to one rank; after the first steps it allocates no memory.
#pragma once

#include <kolam/core/arena.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace kolam {

/// A value on the tape. An id from an earlier recording is dead, and counts as a constant.
struct NodeId {
  int index = -1;
  std::uint32_t recording = 0;
};

/// Where a gradient goes: `target = beta * target + contribution`. `data` is null if nobody needs
/// it.
struct GradientSlot {
  void* data = nullptr;
  bool first_arrival = true;
};

class Tape {
 public:
  explicit Tape(Arena& arena) : arena_(&arena) {}
  ~Tape() { clear(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  bool is_recording() const { return recording_now_; }
  bool is_live(NodeId id) const {
    return recording_now_ && id.index >= 0 && id.recording == recording_;
  }
  /// Whether the node is a parameter of this recording, also while it is paused.
  bool is_leaf(NodeId id) const {
    return id.index >= 0 && static_cast<std::size_t>(id.index) < nodes_.size() &&
           id.recording == recording_ && node(id).leaf;
  }

  /// A parameter: gradients arrive in memory that the caller owns.
  NodeId add_leaf(void* gradient);
  /// The result of an operation, whose gradient takes `bytes`.
  NodeId add_node(std::int64_t bytes);

  /// Remembers how to run an operation backwards. `backward(dy)` is called with the address of the
  /// gradient of `output`, unless none arrived.
  template <class Backward>
  void record(NodeId output, Backward&& backward);

  /// Where a gradient for `id` goes next; marks it as arrived.
  GradientSlot accumulate(NodeId id);
  /// The same, but may hand over the memory of the gradient of `source` (the result of the
  /// operation that is running backwards) if it is the first arrival: the operation must then allow
  /// its target to be its source.
  GradientSlot accumulate_in_place(NodeId id, NodeId source);
  bool has_arrived(NodeId id) const { return node(id).arrived; }

  /// For an operation whose backward pass runs forward again and records: what it recorded is run
  /// backwards next, starting with `result`, whose gradient is that of `output`, the operation's
  /// own.
  void continue_backward(NodeId result, NodeId output);

  /// Runs everything backwards, from `output`, whose gradient is the `bytes` at `seed`.
  void backward(NodeId output, const void* seed);

  /// Records nothing for as long as it lives; what is computed counts as constants.
  class Pause {
   public:
    explicit Pause(Tape& tape) : tape_(tape), before_(tape.recording_now_) {
      tape_.recording_now_ = false;
    }
    ~Pause() { tape_.recording_now_ = before_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Tape& tape_;
    bool before_;
  };

  /// Records for as long as it lives. \throws Error (by the constructor) if one records already.
  class Recording {
   public:
    explicit Recording(Tape& tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    Tape& tape_;
  };

 private:
  struct Node {
    void* gradient = nullptr;
    std::int64_t bytes = 0;
    Block block;
    bool leaf = false;
    bool arrived = false;
  };
  struct Entry {
    void (*run)(void* closure, const void* gradient) = nullptr;
    void (*destroy)(void* closure) = nullptr;
    void* closure = nullptr;
    NodeId output;
  };

  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id.index)]; }
  Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id.index)]; }
  void* closure_memory(std::size_t bytes);
  void clear();

  Arena* arena_;
  std::vector<Node> nodes_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t chunk_ = 0;
  std::size_t chunk_used_ = 0;
  std::uint32_t recording_ = 0;
  bool recording_now_ = false;
};

template <class Backward>
void Tape::record(NodeId output, Backward&& backward) {
  using Closure = std::decay_t<Backward>;
  static_assert(alignof(Closure) <= alignof(std::max_align_t));
  void* memory = closure_memory(sizeof(Closure));
  entries_.emplace_back();
  Entry& entry = entries_.back();
  entry.closure = new (memory) Closure(std::forward<Backward>(backward));
  entry.run = [](void* closure, const void* gradient) {
    (*static_cast<Closure*>(closure))(gradient);
  };
  entry.destroy = [](void* closure) { static_cast<Closure*>(closure)->~Closure(); };
  entry.output = output;
}

}  // namespace kolam

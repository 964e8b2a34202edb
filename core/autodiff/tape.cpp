#include <kolam/core/autodiff/tape.hpp>

#include <kolam/core/error.hpp>

#include <cstddef>

namespace kolam {

namespace {
constexpr std::size_t chunk_bytes = 1 << 16;
}

NodeId Tape::add_leaf(void* gradient) {
  nodes_.emplace_back();
  nodes_.back().gradient = gradient;
  nodes_.back().leaf = true;
  return {static_cast<int>(nodes_.size()) - 1, recording_};
}

NodeId Tape::add_node(std::int64_t bytes) {
  nodes_.emplace_back();
  nodes_.back().bytes = bytes;
  return {static_cast<int>(nodes_.size()) - 1, recording_};
}

void* Tape::closure_memory(std::size_t bytes) {
  constexpr std::size_t align = alignof(std::max_align_t);
  const std::size_t needed = (bytes + align - 1) / align * align;
  if (needed > chunk_bytes) throw Error("an operation keeps more than 64 KiB in its closure");
  if (chunks_.empty() || chunk_used_ + needed > chunk_bytes) {
    if (!chunks_.empty()) ++chunk_;
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(chunk_bytes));
    chunk_used_ = 0;
  }
  void* memory = chunks_[chunk_].get() + chunk_used_;
  chunk_used_ += needed;
  return memory;
}

GradientSlot Tape::accumulate(NodeId id) {
  if (!is_live(id)) return {};
  Node& target = node(id);
  const bool first = !target.arrived;
  if (first && !target.leaf) {
    target.block = arena_->allocate(target.bytes, "a gradient");
    target.gradient = target.block.data();
  }
  target.arrived = true;
  return {target.gradient, first};
}

GradientSlot Tape::accumulate_in_place(NodeId id, NodeId source) {
  if (!is_live(id)) return {};
  Node& target = node(id);
  Node& from = node(source);
  if (target.arrived || target.leaf || target.bytes != from.bytes || !from.block) {
    return accumulate(id);
  }
  target.block = from.block;
  target.gradient = from.gradient;
  target.arrived = true;
  return {target.gradient, true};
}

void Tape::backward(NodeId output, const void* seed) {
  if (!is_live(output)) return;
  node(output).arrived = true;
  node(output).gradient = const_cast<void*>(seed);
  while (!entries_.empty()) {
    // Taken off first: running it may record more, which is then next.
    const Entry entry = entries_.back();
    entries_.pop_back();
    // Also if it throws, for want of memory say, what it kept must go.
    const std::unique_ptr<void, void (*)(void*)> kept(entry.closure, entry.destroy);
    if (node(entry.output).arrived) entry.run(entry.closure, node(entry.output).gradient);
    node(entry.output).block = Block();
  }
}

void Tape::continue_backward(NodeId result, NodeId output) {
  if (!is_live(result)) return;
  // By value: the new node is further back in the same vector.
  const Node from = node(output);
  Node& target = node(result);
  target.gradient = from.gradient;
  target.block = from.block;
  target.arrived = true;
}

void Tape::clear() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    entry->destroy(entry->closure);
  }
  entries_.clear();
  nodes_.clear();
  chunk_ = 0;
  chunk_used_ = 0;
}

Tape::Recording::Recording(Tape& tape) : tape_(tape) {
  if (tape.recording_now_) {
    throw Error("value_and_grad was called inside value_and_grad; kolam differentiates once");
  }
  ++tape.recording_;
  tape.recording_now_ = true;
}

Tape::Recording::~Recording() {
  tape_.clear();
  tape_.recording_now_ = false;
}

}  // namespace kolam

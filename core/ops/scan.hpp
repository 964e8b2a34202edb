/// \file
/// `scan(carry, repeats, body)`: carry <- body(carry), `repeats` times, always the same block.
///
/// Every repeat is recorded on the tape, so its derivative is that of its operations; what the body
/// uses from outside (its weights) gathers the gradients of all repeats. With `keep_every` k above
/// 1 only every k-th carry is kept, and the repeats between are computed again in the backward pass
/// (Chen et al., arXiv:1604.06174): memory for repeats / k + k of them instead of all, for one more
/// forward pass. The bits are the same.
///
/// Placement rule: the body must return the placement that it was given.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/ops/checks.hpp>
#include <kolam/core/ops/record.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace kolam::ops {

struct ScanOptions {
  /// Every how many repeats the carry is kept for the backward pass; 1 keeps all that is needed.
  std::int64_t keep_every = 1;
};

namespace detail {

template <AnyArray Carry, class Body>
Carry run_repeats(Carry carry, std::int64_t repeats, Body& body) {
  for (std::int64_t i = 0; i < repeats; ++i) {
    Carry next = body(std::as_const(carry));
    if (next.extents() != carry.extents()) {
      throw ShapeError(
          fmt::format("scan: the body turned {} into {}; a repeated block must keep "
                      "its extents",
                      carry.typed_shape(), next.typed_shape()));
    }
    carry = std::move(next);
  }
  return carry;
}

/// A few repeats of which only the first carry is kept.
template <AnyArray Carry, class Body>
Carry run_again_later(const Carry& carry, std::int64_t repeats, const Body& body) {
  Tape& tape = carry.context().tape();
  Body forward = body;
  Carry result = [&] {
    const Tape::Pause pause(tape);
    return run_repeats(carry, repeats, forward);
  }();
  const NodeId node = tape.add_node(result.local_bytes());
  result.set_node(node);
  tape.record(node, [carry, repeats, body, node](const void* dy) mutable {
    using T = typename Carry::value_type;
    const Carry again = run_repeats(carry, repeats, body);
    Tape& same_tape = carry.context().tape();
    if (!same_tape.is_live(again.node())) return;
    if (!same_tape.has_arrived(again.node()))
      return same_tape.continue_backward(again.node(), node);
    // A body that hands its carry through: its gradient may have come from elsewhere already.
    const auto target = gradient_target(again);
    const auto size = static_cast<std::size_t>(again.view().size());
    kernels::axpby(carry.context().space(), T(1), Vector<const T>(static_cast<const T*>(dy), size),
                   target.beta, Vector<T>(target.view.data(), size));
  });
  return result;
}

}  // namespace detail

/// \param body is copied and called again in the backward pass if `keep_every` is above 1: it must
///   then capture what it uses by value.
/// \throws ConfigurationError if repeats is negative or `keep_every` below 1, ShapeError if the
/// body
///   changes the extents.
template <AnyArray Carry, class Body>
Carry scan(Carry carry, std::int64_t repeats, Body&& body, const ScanOptions& options = {}) {
  static_assert(std::is_same_v<std::invoke_result_t<Body&, const Carry&>, Carry>,
                "kolam scan: the body returns another type or placement than its carry; a repeated "
                "block must keep both");
  detail::check_repeats(repeats);
  detail::check_keep_every(options.keep_every);
  if (options.keep_every == 1 || !carry.context().tape().is_recording()) {
    return detail::run_repeats(std::move(carry), repeats, body);
  }
  for (std::int64_t done = 0; done < repeats; done += options.keep_every) {
    const std::int64_t some = std::min(options.keep_every, repeats - done);
    carry = detail::run_again_later(carry, some, std::decay_t<Body>(body));
  }
  return carry;
}

}  // namespace kolam::ops

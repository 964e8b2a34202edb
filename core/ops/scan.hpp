/// \file
/// `scan(carry, repeats, body)`: carry <- body(carry), `repeats` times, always the same block.
///
/// Every repeat is recorded on the tape, so its derivative is that of its operations; what the body
/// uses from outside (its weights) gathers the gradients of all repeats.
///
/// Placement rule: the body must return the placement that it was given.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/ops/checks.hpp>

#include <cstdint>
#include <type_traits>

namespace kolam::ops {

/// \throws ConfigurationError if repeats is negative, ShapeError if the body changes the extents.
template <AnyArray Carry, class Body>
Carry scan(Carry carry, std::int64_t repeats, Body&& body) {
  static_assert(std::is_same_v<std::invoke_result_t<Body&, const Carry&>, Carry>,
                "kolam scan: the body returns another type or placement than its carry; a repeated "
                "block must keep both");
  detail::check_repeats(repeats);
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

}  // namespace kolam::ops

/// \file
/// What optimizers share: state that mirrors the flat parameter buffer, and the check that the
/// gradients they are given are sums over all ranks.
#pragma once

#include <kolam/core/kernels/elementwise.hpp>
#include <kolam/core/parameters/parameters.hpp>

#include <string_view>

namespace kolam::optim {

/// A buffer with the layout of `Parameters::flat`, zero at the start.
template <class T>
class FlatState {
 public:
  FlatState(const Parameters<T>& parameters, std::string_view what)
      : size_(parameters.flat_size()),
        block_(parameters.context().arena().allocate(size_ * static_cast<std::int64_t>(sizeof(T)),
                                                     what)) {
    kernels::fill(parameters.context().space(), flat(), T(0));
  }
  Vector<T> flat() const {
    return Vector<T>(static_cast<T*>(block_.data()), static_cast<std::size_t>(size_));
  }

 private:
  std::int64_t size_;
  Block block_;
};

namespace detail {

template <Placement State>
consteval void check_gradients() {
  static_assert(State.varying.empty(),
                "kolam optimizer: these gradients still vary between ranks, so parameters would "
                "drift apart; reduce them first, e.g. pmean<\"data\">(gradients)");
  static_assert(State.pending.empty(),
                "kolam optimizer: these gradients are a pending sum; resolve it first with psum");
}

template <class T>
void check_owner(const Parameters<T>& mine, const Parameters<T>& given) {
  if (&mine == &given) return;
  throw ShapeError(
      "an optimizer was given the gradients of other parameters than it was made "
      "for; make one optimizer per model");
}

/// \throws ConfigurationError naming the option and its range unless `holds`.
void require(std::string_view name, double value, bool holds, std::string_view range);

}  // namespace detail
}  // namespace kolam::optim

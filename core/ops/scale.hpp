/// \file
/// `scale(x, factor)` = factor x. Derivative: factor dy. Linear, so every placement is allowed and
/// kept; a pending sum may be scaled before it is resolved.
#pragma once

#include <kolam/core/ops/record.hpp>
#include <kolam/core/parameters/parameters.hpp>

namespace kolam::ops {

template <class DataType, Placement Where>
BasicArray<DataType, Where> scale(const BasicArray<DataType, Where>& x, double factor) {
  using T = typename BasicArray<DataType, Where>::value_type;
  BasicArray<DataType, Where> y(x.context(), x.extents());
  const auto flat = [](const auto& view) { return Vector<const T>(view.data(), view.size()); };
  kernels::axpby(x.context().space(), static_cast<T>(factor), flat(x.view()), T(0),
                 Vector<T>(y.view().data(), y.view().size()));
  detail::record(
      y,
      [x, factor, flat](const auto& dy) {
        const auto target = detail::gradient_target(x);
        kernels::axpby(x.context().space(), static_cast<T>(factor), flat(dy), target.beta,
                       Vector<T>(target.view.data(), target.view.size()));
      },
      x);
  return y;
}

/// Every gradient times a factor, e.g. 1 / global batch after `psum`.
template <class T, Placement State>
Gradients<T, State> scale(const Gradients<T, State>& gradients, double factor) {
  RankContext& context = gradients.parameters().context();
  Gradients<T, State> result(gradients.parameters(),
                             context.arena().allocate(gradients.parameters().flat_size() *
                                                          static_cast<std::int64_t>(sizeof(T)),
                                                      "the scaled gradients"));
  kernels::axpby(context.space(), static_cast<T>(factor), Vector<const T>(gradients.flat()), T(0),
                 result.flat());
  return result;
}

}  // namespace kolam::ops

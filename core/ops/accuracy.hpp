/// \file
/// `correct_count(logits, labels)`: the number of rows whose largest logit (the first, where
/// several are equal) is the label; `accuracy` is that number over the number of rows.
///
/// Neither has a derivative. Placement rule: as for `softmax_cross_entropy`; the result is a
/// pending sum over the axes that split the rows.
#pragma once

#include <kolam/core/kernels/correct_count.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>

namespace kolam::ops {

/// \throws ShapeError if rows and labels differ.
template <class T, Placement Logits, Placement Labels>
auto correct_count(const BasicArray<T**, Logits>& logits,
                   const BasicArray<std::int32_t*, Labels>& labels) {
  detail::check_row_placement<Logits, Labels>();
  detail::check_row_shapes("correct_count", logits, labels);
  RankContext& context = logits.context();
  BasicArray<std::int64_t, detail::row_sum_placement<Logits, Labels>()> count(context, {});
  const auto local_rows = static_cast<std::size_t>(logits.local_extents()[0]);
  const Block scratch = context.arena().allocate(
      static_cast<std::int64_t>(local_rows * sizeof(std::int32_t)), "the hits of the rows");
  kernels::correct_count(
      context.space(), Matrix<const T>(logits.view()), Vector<const std::int32_t>(labels.view()),
      Vector<std::int32_t>(static_cast<std::int32_t*>(scratch.data()), local_rows), count.view());
  return count;
}

/// Share of rows that are right, 0 to 1; 0 for no rows. \throws ShapeError as `correct_count`.
template <class T, Placement Logits, Placement Labels>
auto accuracy(const BasicArray<T**, Logits>& logits,
              const BasicArray<std::int32_t*, Labels>& labels) {
  const auto count = correct_count(logits, labels);
  BasicArray<T, decltype(count)::placement> share(logits.context(), {});
  const std::int64_t rows = logits.extents()[0];
  kernels::convert_scaled(logits.context().space(), ScalarView<const std::int64_t>(count.view()),
                          rows == 0 ? T(0) : T(1) / static_cast<T>(rows), share.view());
  return share;
}

}  // namespace kolam::ops

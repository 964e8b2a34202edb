/// \file
/// `softmax_cross_entropy(logits, labels)`: the mean (or sum) over all rows of
/// log(sum_j exp(logits_j)) - logits_label, with the row's maximum taken out before exp.
///
/// Derivative: dlogits = upstream * (softmax(logits) - onehot(labels)) / rows (mean) or * 1 (sum).
///
/// Placement rule: rows may be split, logits and labels alike; the loss is then a pending sum over
/// those axes. A mean divides by the global number of rows, so it is exact for unequal and for
/// empty slices. Inside `shard_map` the rows are the local ones and the loss varies; the mean over
/// no rows is 0 there. Classes must not be split.
#pragma once

#include <kolam/core/kernels/softmax_cross_entropy.hpp>
#include <kolam/core/ops/checks.hpp>
#include <kolam/core/ops/record.hpp>

#include <cstdint>

namespace kolam {

enum class Reduction { mean, sum };

namespace ops {

namespace detail {

template <Placement Logits, Placement Labels>
consteval Placement row_sum_placement() {
  Placement result;
  result.pending = as_set(Logits.dimension(0));
  result.varying = set_union(Logits.varying, Labels.varying);
  result.reduced = set_union(Logits.reduced, Labels.reduced);
  return result;
}

template <Placement Logits, Placement Labels>
consteval void check_row_placement() {
  static_assert(Logits.pending.empty(),
                "kolam: the logits are a pending sum and softmax is not linear; resolve it first "
                "with psum");
  static_assert(Logits.dimension(1).empty(),
                "kolam: the classes of the logits are split over a mesh axis; gather them first");
  static_assert(Logits.dimension(0) == Labels.dimension(0),
                "kolam: the rows of the logits and the labels are split over different axes; give "
                "the labels the placement of the rows, e.g. P<\"data\">");
}

template <class Logits, class Labels>
void check_row_shapes(const char* operation, const Logits& logits, const Labels& labels) {
  if (logits.extents()[0] != labels.extents()[0]) {
    throw ShapeError(fmt::format(
        "{}: logits are {} and labels are {}: {} rows and {} labels; make them equal", operation,
        logits.typed_shape(), labels.typed_shape(), logits.extents()[0], labels.extents()[0]));
  }
  if (logits.extents()[1] < 1) {
    throw ShapeError(fmt::format("{}: logits are {}; expected at least one class", operation,
                                 logits.typed_shape()));
  }
}

/// Finds a label that is no class. Host memory only: a device array is checked where it was loaded.
template <class Labels>
void check_labels_are_classes(const Labels& labels, std::int64_t classes) {
  if constexpr (device_memory_is_host_accessible) {
    for (std::size_t i = 0; i < labels.view().extent(0); ++i) {
      const std::int64_t label = labels.view()(i);
      if (label >= 0 && label < classes) continue;
      refuse_label(static_cast<std::int64_t>(i), label, classes);
    }
  }
}

}  // namespace detail

/// \throws ShapeError if rows and labels differ, DataError if a label is no class.
template <class T, Placement Logits, Placement Labels>
auto softmax_cross_entropy(const BasicArray<T**, Logits>& logits,
                           const BasicArray<std::int32_t*, Labels>& labels,
                           Reduction reduction = Reduction::mean) {
  detail::check_row_placement<Logits, Labels>();
  detail::check_row_shapes("softmax_cross_entropy", logits, labels);
  detail::check_labels_are_classes(labels, logits.extents()[1]);
  constexpr Placement result_placement = detail::row_sum_placement<Logits, Labels>();

  RankContext& context = logits.context();
  const std::int64_t rows = logits.extents()[0];
  const T scale = reduction == Reduction::sum || rows == 0 ? T(1) : T(1) / static_cast<T>(rows);
  BasicArray<T, result_placement> loss(context, {});
  const auto local_rows = static_cast<std::size_t>(logits.local_extents()[0]);
  const Block scratch = context.arena().allocate(static_cast<std::int64_t>(local_rows * sizeof(T)),
                                                 "the losses of the rows");
  kernels::softmax_cross_entropy_forward(
      context.space(), Matrix<const T>(logits.view()), Vector<const std::int32_t>(labels.view()),
      scale, Vector<T>(static_cast<T*>(scratch.data()), local_rows), loss.view());
  detail::record(
      loss,
      [logits, labels, scale](const ScalarView<const T>& upstream) {
        const auto target = detail::gradient_target(logits);
        kernels::softmax_cross_entropy_backward(
            logits.context().space(), Matrix<const T>(logits.view()),
            Vector<const std::int32_t>(labels.view()), upstream, scale, target.beta, target.view);
      },
      logits);
  return loss;
}

}  // namespace ops
}  // namespace kolam

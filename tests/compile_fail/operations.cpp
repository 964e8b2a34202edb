// Wrong placements of operations do not compile. See CMakeLists.txt for how this file is used.
#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/accuracy.hpp>
#include <kolam/core/ops/dense.hpp>
#include <kolam/core/ops/dense_gelu_mix.hpp>
#include <kolam/core/ops/gelu.hpp>
#include <kolam/core/ops/relu.hpp>
#include <kolam/core/ops/residual_mix.hpp>
#include <kolam/core/ops/scan.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/core/optim/sgd.hpp>
#include <kolam/parallel/collectives.hpp>

using namespace kolam;

template <class... Policies>
using Matrix32 = Array<float**, Policies...>;
template <class... Policies>
using Vector32 = Array<float*, Policies...>;
using Labels = Array<std::int32_t*, P<"data">>;

void valid(const Matrix32<P<"data", none>>& x, const Matrix32<P<>>& w, const Vector32<P<>>& b,
           const Matrix32<P<none, "model">>& columns, const Vector32<P<"model">>& column_bias,
           const Matrix32<P<"model", none>>& rows, const Labels& labels) {
  auto hidden = ops::gelu(ops::dense(x, columns, column_bias));
  static_assert(decltype(hidden)::placement == placement_of<P<"data", "model">>);
  auto logits = ops::relu(ops::dense(hidden, rows, b));
  static_assert(decltype(logits)::placement == placement_of<P<"data", none>>);
  auto loss = ops::softmax_cross_entropy(logits, labels);
  static_assert(decltype(loss)::placement == placement_of<P<>, Pending<"data">>);
  auto hits = psum<"data">(ops::correct_count(logits, labels));
  static_assert(decltype(hits)::placement.is_replicated());
  ops::scan(x, 3, [&](const auto& h) { return ops::dense_gelu_mix(h, w, b, 0.1); });
}

#ifndef KOLAM_ONLY_VALID

void dense_with_columns_split_but_not_the_rows_of_w(const Matrix32<P<none, "model">>& x,
                                                    const Matrix32<P<>>& w,
                                                    const Vector32<P<>>& b) {
  // error: kolam dense: the columns of x and the rows of w are split over different axes; split
  // both over the same axis (row-split weights) or neither
  ops::dense(x, w, b);
}

void dense_with_a_whole_bias_for_split_columns(const Matrix32<P<"data", none>>& x,
                                               const Matrix32<P<none, "model">>& w,
                                               const Vector32<P<>>& b) {
  // error: kolam dense: the columns of w and the bias are split over different axes; give the bias
  // the placement of w's columns
  ops::dense(x, w, b);
}

void dense_with_one_axis_for_batch_and_weights(const Matrix32<P<"data", none>>& x,
                                               const Matrix32<P<none, "data">>& w,
                                               const Vector32<P<"data">>& b) {
  // error: kolam dense: the rows of x and the weights are split over the same axis; use one axis
  // for the batch and another for the weights
  ops::dense(x, w, b);
}

void dense_of_a_pending_sum(const Matrix32<P<>, Pending<"model">>& x, const Matrix32<P<>>& w,
                            const Vector32<P<>>& b) {
  // error: kolam dense: an input is a pending sum; resolve it first with psum
  ops::dense(x, w, b);
}

void gelu_of_a_pending_sum(const Matrix32<P<>, Pending<"model">>& z) {
  // error: kolam gelu: the input is a pending sum and gelu is not linear; resolve it first with
  // psum
  ops::gelu(z);
}

void relu_of_a_pending_sum(const Matrix32<P<>, Pending<"model">>& z) {
  // error: kolam relu: the input is a pending sum and relu is not linear; resolve it first with
  // psum
  ops::relu(z);
}

void mix_of_different_splits(const Matrix32<P<"data", none>>& h, const Matrix32<P<>>& update) {
  // error: kolam residual_mix: h and update are split over different axes; give both the same
  // placement
  ops::residual_mix(h, update, 0.1);
}

void mix_of_pending_and_whole(const Matrix32<P<>, Pending<"model">>& h,
                              const Matrix32<P<>>& update) {
  // error: kolam residual_mix: one input is a pending sum and the other is not; resolve it first
  // with psum
  ops::residual_mix(h, update, 0.1);
}

void block_with_split_weights(const Matrix32<P<"data", none>>& h,
                              const Matrix32<P<none, "model">>& w, const Vector32<P<"model">>& b) {
  // error: kolam dense_gelu_mix: the weights are split; replicate them, or write the block with
  // dense, gelu and residual_mix
  ops::dense_gelu_mix(h, w, b, 0.1);
}

void scan_whose_body_changes_the_placement(const Matrix32<P<"data", none>>& h,
                                           const Matrix32<P<none, "model">>& w,
                                           const Vector32<P<"model">>& b) {
  // error: kolam scan: the body returns another type or placement than its carry; a repeated block
  // must keep both
  ops::scan(h, 3, [&](const auto& carry) { return ops::dense(carry, w, b); });
}

void loss_of_split_classes(const Matrix32<P<"data", "model">>& logits, const Labels& labels) {
  // error: kolam: the classes of the logits are split over a mesh axis; gather them first
  ops::softmax_cross_entropy(logits, labels);
}

void loss_of_labels_placed_elsewhere(const Matrix32<P<"data", none>>& logits,
                                     const Array<std::int32_t*, P<>>& labels) {
  // error: kolam: the rows of the logits and the labels are split over different axes; give the
  // labels the placement of the rows, e.g. P<"data">
  ops::softmax_cross_entropy(logits, labels);
}

void loss_of_pending_logits(const Matrix32<P<>, Pending<"model">>& logits,
                            const Array<std::int32_t*, P<>>& labels) {
  // error: kolam: the logits are a pending sum and softmax is not linear; resolve it first with
  // psum
  ops::softmax_cross_entropy(logits, labels);
}

void sum_of_what_all_ranks_have_alike(const Matrix32<P<>>& x) {
  // error: kolam psum: the value is already the same on every rank of this axis, so a sum would
  // multiply it by their number; leave psum out
  psum<"data">(x);
}

void sum_of_slices(const Matrix32<P<"data", none>>& x) {
  // error: kolam psum: the array is split over this axis, so ranks hold different parts, not parts
  // of a sum; use gather
  psum<"data">(x);
}

void mean_of_a_pending_sum(const Array<float, P<>, Pending<"data">>& loss) {
  // error: kolam pmean: the value is a pending sum, whose true value is the sum; use psum
  pmean<"data">(loss);
}

void reading_a_pending_number(const Array<float, P<>, Pending<"data">>& loss) {
  // error: kolam value: the number is a pending sum; resolve it first with psum
  value(loss);
}

void gathering_a_pending_sum(const Matrix32<P<>, Pending<"data">>& x) {
  // error: kolam gather: the array is a pending sum; resolve it first with psum
  gather(x);
}

// error: kolam: a placement uses one mesh axis twice; an axis splits one dimension, and a split
// axis is neither pending nor varying
static_assert(Matrix32<P<"data", "data">>::dimensions == 2);

struct Model {
  Parameters<float>& parameters();
};

void loss_reduced_inside_value_and_grad(Model& model,
                                        const Array<float, P<>, Pending<"data">>& loss) {
  // error: kolam value_and_grad: the loss was already reduced by psum or pmean inside the function,
  // so gradients taken through it would be partial; return the loss as it is and reduce what
  // value_and_grad returns
  value_and_grad(model, [&] { return psum<"data">(loss); });
}

void loss_that_is_a_matrix(Model& model, const Matrix32<P<>>& x) {
  // error: kolam value_and_grad: the function must return a loss of no dimensions, e.g. that of
  // softmax_cross_entropy
  value_and_grad(model, [&] { return x; });
}

void update_from_pending_gradients(optim::AdamW<float>& optimizer,
                                   const Gradients<float, placement_of<Pending<"data">>>& g) {
  // error: kolam optimizer: these gradients are a pending sum; resolve it first with psum
  optimizer.update(g);
}

void put_without_a_placement(RankContext& rank, const HostTensor<float>& host) {
  // error: kolam device_put: host memory is neither pending nor varying; use P<...> and name every
  // dimension, e.g. P<"data", none>
  device_put<Varying<"data">>(rank, host);
}

#endif

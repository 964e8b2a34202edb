/// \file
/// Softmax cross-entropy from logits with integer labels, one row per example.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>

namespace kolam::kernels {

/// row_losses[i] = log(sum_j exp(logits[i, j])) - logits[i, labels[i]], with the row's maximum
/// taken out before exp; loss = scale * their sum, along one fixed binary tree. Labels must be
/// classes. A NaN among the logits gives a NaN loss. row_losses is scratch of one element per row.
template <class T>
void softmax_cross_entropy_forward(const ExecutionSpace& space, Matrix<const T> logits,
                                   Vector<const std::int32_t> labels, T scale, Vector<T> row_losses,
                                   ScalarView<T> loss);

/// dlogits = beta dlogits + upstream scale (softmax(logits) - onehot(labels)). beta 0 does not read
/// dlogits.
template <class T>
void softmax_cross_entropy_backward(const ExecutionSpace& space, Matrix<const T> logits,
                                    Vector<const std::int32_t> labels, ScalarView<const T> upstream,
                                    T scale, T beta, Matrix<T> dlogits);

}  // namespace kolam::kernels

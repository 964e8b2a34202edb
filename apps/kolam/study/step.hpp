/// \file
/// The training step of the study, written once.
///
/// On one device and on all of them automatically, the step takes global arrays: their placements
/// alone decide what runs where, and `value_and_grad` puts in the one sum that is needed.
/// Explicitly, the same source runs inside `shard_map` on local slices, and `pmean` is called by
/// hand.
#pragma once

#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/parallel/shard_map.hpp>

#include <tuple>

namespace kolam::app {

template <class Model, class Images, class Labels>
auto loss_and_gradients(Model& model, const Images& x, const Labels& y) {
  return value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
}

struct AutomaticStep {
  template <class Model, class Optimizer, class Images, class Labels>
  auto operator()(Rank&, Model& model, Optimizer& optimizer, const Images& x,
                  const Labels& y) const {
    const auto [loss, gradients] = loss_and_gradients(model, x, y);
    optimizer.update(gradients);
    return loss;
  }
};

struct ExplicitStep {
  template <class Model, class Optimizer, class Images, class Labels>
  auto operator()(Rank& rank, Model& model, Optimizer& optimizer, const Images& x,
                  const Labels& y) const {
    auto mapped = shard_map<In<P<>, P<"data", none>, P<"data">>, Out<P<>, P<>>>(
        rank, [](auto& local_model, const auto& local_x, const auto& local_y) {
          const auto [loss, gradients] = loss_and_gradients(local_model, local_x, local_y);
          return std::tuple(pmean<"data">(loss), pmean<"data">(gradients));
        });
    const auto [loss, gradients] = mapped(model, x, y);
    optimizer.update(gradients);
    return loss;
  }
};

}  // namespace kolam::app

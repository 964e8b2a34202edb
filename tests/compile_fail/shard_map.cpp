// Wrong results of shard_map functions do not compile. See CMakeLists.txt for how this is used.
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/core/optim/sgd.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/shard_map.hpp>

using namespace kolam;

using Model = models::SharedBlockMlp<models::DataParallel, float>;
using Images = Array<float**, P<"data", none>>;
using Labels = Array<std::int32_t*, P<"data">>;
using Inputs = In<P<>, P<"data", none>, P<"data">>;

template <class M, class X, class Y>
auto local_step(M& model, const X& x, const Y& y) {
  return value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
}

void valid(Rank& rank, Model& model, const Images& x, const Labels& y) {
  auto step =
      shard_map<Inputs, Out<P<>, P<>>>(rank, [](auto& m, const auto& images, const auto& labels) {
        auto [loss, gradients] = local_step(m, images, labels);
        return std::tuple(pmean<"data">(loss), pmean<"data">(gradients));
      });
  auto [loss, gradients] = step(model, x, y);
  static_assert(decltype(loss)::placement.is_replicated());
  optim::AdamW optimizer(model.parameters(), {});
  optimizer.update(gradients);
}

#ifndef KOLAM_ONLY_VALID

void gradients_returned_without_pmean(Rank& rank, Model& model, const Images& x, const Labels& y) {
  auto step =
      shard_map<Inputs, Out<P<>, P<>>>(rank, [](auto& m, const auto& images, const auto& labels) {
        auto [loss, gradients] = local_step(m, images, labels);
        return std::tuple(pmean<"data">(loss), gradients);
      });
  // error: kolam shard_map: a result still varies over a mesh axis that its entry in Out<...> does
  // not split, so the ranks would return different values as one; call pmean or psum over that axis
  // before returning it
  step(model, x, y);
}

void update_from_varying_gradients(Rank& rank, Model& model, const Images& x, const Labels& y) {
  auto step =
      shard_map<Inputs, Out<P<>>>(rank, [](auto& m, const auto& images, const auto& labels) {
        auto [loss, gradients] = local_step(m, images, labels);
        optim::SGD optimizer(m.parameters(), {});
        // error: kolam optimizer: these gradients still vary between ranks, so parameters would
        // drift apart; reduce them first, e.g. pmean<"data">(gradients)
        optimizer.update(gradients);
        return pmean<"data">(loss);
      });
  step(model, x, y);
}

void mean_taken_twice(Rank& rank, Model& model, const Images& x, const Labels& y) {
  auto step =
      shard_map<Inputs, Out<P<>>>(rank, [](auto& m, const auto& images, const auto& labels) {
        auto [loss, gradients] = local_step(m, images, labels);
        // error: kolam pmean: the value is already the same on every rank of this axis; leave pmean
        // out
        return pmean<"data">(pmean<"data">(loss));
      });
  step(model, x, y);
}

void reading_a_local_loss(Rank& rank, Model& model, const Images& x, const Labels& y) {
  auto step =
      shard_map<Inputs, Out<P<>>>(rank, [](auto& m, const auto& images, const auto& labels) {
        auto [loss, gradients] = local_step(m, images, labels);
        // error: kolam value: the number differs between ranks; reduce it first with pmean or psum
        (void)value(loss);
        return pmean<"data">(loss);
      });
  step(model, x, y);
}

void argument_with_another_placement(Rank& rank, Model& model, const Array<float**, P<>>& x,
                                     const Labels& y) {
  auto step = shard_map<Inputs, Out<P<>>>(
      rank, [](auto&, const auto&, const auto& labels) { return psum<"data">(labels); });
  // error: kolam shard_map: an argument has another placement than its entry in In<...>; put it
  // with that placement, or mend the entry
  step(model, x, y);
}

void wrong_number_of_arguments(Rank& rank, const Images& x) {
  auto step = shard_map<In<P<"data", none>, P<"data">>, Out<P<"data", none>>>(
      rank, [](const auto& images) { return images; });
  // error: kolam shard_map: the function is called with another number of arguments than In<...>
  // declares
  step(x);
}

void wrong_number_of_results(Rank& rank, const Images& x) {
  auto step = shard_map<In<P<"data", none>>, Out<P<"data", none>, P<>>>(
      rank, [](const auto& images) { return std::tuple(images, images, images); });
  // error: kolam shard_map: the function returns another number of results than Out<...> declares
  step(x);
}

#endif

// From the start of a process to the end of its first training step, and no further: the real data,
// the network 784-128-10, batch 32, on every core. `bench_startup` times it.
#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/data/batches.hpp>
#include <kolam/core/data/fashion_mnist.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/mlp.hpp>
#include <kolam/parallel/collectives.hpp>
#include <kolam/parallel/session.hpp>

#include <cmath>

int main() {
  using namespace kolam;
  const data::Dataset dataset = data::load_fashion_mnist(data::Split::train);
  const auto batches = data::stack_batches<float>(dataset, {.batches = 1, .batch = 32});
  Session session;
  float loss_value = 0;
  session.run(Mesh{{"data", session.device_count()}}, [&](Rank& rank) {
    models::Mlp<models::DataParallel> model(rank, {});
    optim::Adam optimizer(model.parameters());
    const auto x = device_put<P<"data", none>>(rank, batches.images(0));
    const auto y = device_put<P<"data">>(rank, batches.labels(0));
    const auto [loss, gradients] =
        value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
    optimizer.update(gradients);
    if (rank.rank() == 0) loss_value = value(loss);
  });
  return std::isfinite(loss_value) ? 0 : 1;
}

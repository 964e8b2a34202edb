#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/data/batches.hpp>
#include <kolam/core/data/fashion_mnist.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/collectives.hpp>
#include <kolam/parallel/session.hpp>

#include <cstdio>

using namespace kolam;

int main() {
  const auto dataset = data::load_fashion_mnist(data::Split::train);
  const auto batches =
      data::stack_batches<float>(dataset, {.batches = 40, .batch = 512, .seed = 1});
  Session session;  // one device per core; starts Kokkos, or joins it
  session.run(Mesh{{"data", session.device_count()}}, [&](Rank& rank) {
    models::SharedBlockMlp<models::DataParallel> model(rank, {.width = 128, .repeats = 8});
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-3});
    for (int i = 0; i < 40; ++i) {
      const auto x = device_put<P<"data", none>>(rank, batches.images(i));  // f32[512@data, 784]
      const auto y = device_put<P<"data">>(rank, batches.labels(i));
      const auto [loss, gradients] =
          value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
      optimizer.update(gradients);  // replicated: value_and_grad summed them over "data"
      const float loss_value = value(loss);
      if (rank.rank() == 0 && i % 10 == 9) std::printf("step %2d  loss %.3f\n", i + 1, loss_value);
    }
  });
}

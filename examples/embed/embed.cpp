// A simulation that trains in situ: its own Kokkos, its own Views, and kolam as a library.
//
// Each rank simulates the cooling of a rod many times, from a hot spot in one of four quarters. The
// network learns to tell from the final temperatures where the heat came from; it reads them where
// the simulation wrote them.
#include <kolam/core/array/device_put.hpp>
#include <kolam/core/autodiff/value_and_grad.hpp>
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/core/optim/adamw.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/collectives.hpp>
#include <kolam/parallel/session.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>

namespace {

constexpr int cells = 64;
constexpr int quarters = 4;
constexpr int rods_per_rank = 128;

using Temperatures = Kokkos::View<float**, Kokkos::LayoutRight>;
using Origins = Kokkos::View<std::int32_t*, Kokkos::LayoutRight>;

/// Where the hot spot of a rod starts: all cells in turn.
KOKKOS_INLINE_FUNCTION int hot_cell(int rod) {
  return rod * 29 % cells;
}

void simulate(const Temperatures& temperatures, const Origins& origins, int first_rod) {
  Kokkos::parallel_for(
      "embed::cool", Kokkos::RangePolicy<>(0, static_cast<int>(temperatures.extent(0))),
      KOKKOS_LAMBDA(int i) {
        float rod[cells] = {};
        rod[hot_cell(first_rod + i)] = 8.0f;
        for (int step = 0; step < 40; ++step) {
          float left = rod[0];
          for (int c = 0; c < cells; ++c) {
            const float here = rod[c];
            const float right = c + 1 < cells ? rod[c + 1] : here;
            rod[c] = here + 0.25f * (left - 2 * here + right);
            left = here;
          }
        }
        for (int c = 0; c < cells; ++c) temperatures(i, c) = rod[c];
        origins(i) = hot_cell(first_rod + i) * quarters / cells;
      });
  Kokkos::fence();
}

/// Trains on all devices and returns the losses of the first and the last step.
std::pair<float, float> train(kolam::Session& session) {
  using namespace kolam;
  std::pair<float, float> losses;
  session.run(Mesh{{"data", session.device_count()}}, [&](Rank& rank) {
    // The simulation's memory. Views belong to the rank that made them.
    const Temperatures temperatures("embed::temperatures", rods_per_rank, cells);
    const Origins origins("embed::origins", rods_per_rank);
    simulate(temperatures, origins, rank.rank() * rods_per_rank);

    // The same memory as slices of arrays over all ranks; nothing is copied.
    const std::int64_t rods = rods_per_rank * rank.mesh().size();
    const auto x = wrap<P<"data", none>>(rank, temperatures, {rods, cells});
    const auto y = wrap<P<"data">>(rank, origins, {rods});

    models::SharedBlockMlp<models::DataParallel> model(
        rank, {.inputs = cells, .width = 32, .classes = quarters, .repeats = 4});
    optim::AdamW optimizer(model.parameters(), {.learning_rate = 3e-3});
    for (int step = 0; step < 60; ++step) {
      const auto [loss, gradients] =
          value_and_grad(model, [&] { return ops::softmax_cross_entropy(model(x), y); });
      optimizer.update(gradients);
      const float loss_value = value(loss);
      if (rank.rank() == 0) (step == 0 ? losses.first : losses.second) = loss_value;
    }
  });
  return losses;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  int exit_code = 0;
  try {
    kolam::Session session;  // joins the Kokkos above and never finalizes it
    const auto [first, last] = train(session);
    std::printf("%d devices, loss %.3f -> %.3f\n", session.device_count(), first, last);
    if (!(last < 0.5f * first)) {
      std::fprintf(stderr, "embed: the loss did not fall to half\n");
      exit_code = 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    exit_code = 1;
  }
  Kokkos::finalize();
  return exit_code;
}

// A program that keeps a model in static storage, as people do. It must not crash however it ends.
#include <kolam/core/ops/softmax_cross_entropy.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace {

using Model = kolam::models::SharedBlockMlp<kolam::models::DataParallel, float>;

std::unique_ptr<Model> global_model;

Model& local_static_model(kolam::Rank& rank) {
  static Model model(rank, {.inputs = 8, .width = 8, .repeats = 1});
  return model;
}

void train(kolam::Rank& rank) {
  if (rank.rank() != 0) return;
  global_model = std::make_unique<Model>(
      rank, kolam::models::SharedBlockMlpOptions{.inputs = 8, .width = 8, .repeats = 1});
  local_static_model(rank);
}

}  // namespace

/// Usage: static_objects return|exit|throw|exit_on_rank|use_after
int main(int, char** arguments) {
  const std::string_view ending = arguments[1];
  kolam::Session session({.devices = 2});
  try {
    session.run(kolam::Mesh{{"data", 2}}, [&](kolam::Rank& rank) {
      train(rank);
      if (ending == "throw" && rank.rank() == 0) throw kolam::DataError("on purpose");
      if (ending == "exit_on_rank" && rank.rank() == 1) std::exit(3);
      if (ending != "exit_on_rank") return;
      // Waits for a rank that has left the process.
      rank.communicator().barrier(rank.space(), {"data", "never"});
    });
    if (ending == "use_after") {
      session.run(kolam::Mesh{}, [&](kolam::Rank&) { global_model->parameters().digest(); });
    }
  } catch (const kolam::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  if (ending == "exit") std::exit(0);
  return 0;
}

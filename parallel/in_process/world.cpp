#include <fmt/format.h>
#include <kolam/parallel/in_process/communicator.hpp>
#include <kolam/parallel/in_process/state.hpp>
#include <kolam/parallel/in_process/world.hpp>

#include <utility>

namespace kolam::in_process {

World::World(Mesh mesh, const WorldOptions& options)
    : state_(std::make_shared<State>(std::move(mesh), options)) {}

World::~World() = default;

std::unique_ptr<Communicator> World::communicator(int rank) {
  if (rank < 0 || rank >= state_->mesh().size()) {
    throw ConfigurationError(fmt::format("the mesh {} has no rank {}; it has {} ranks, from 0 on",
                                         to_string(state_->mesh()), rank, state_->mesh().size()));
  }
  return std::make_unique<ThreadCommunicator>(state_, rank);
}

void World::abort(int rank, std::string cause_text) noexcept {
  state_->abort(rank, std::move(cause_text));
}

void World::finished(int rank) noexcept {
  state_->finished(rank);
}

bool World::aborted() const noexcept {
  return state_->failed();
}

std::string World::cause() const {
  return state_->cause();
}

}  // namespace kolam::in_process

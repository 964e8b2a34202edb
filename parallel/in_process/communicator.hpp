/// \file
/// The communicator of one rank of a `World`. Used through `World::communicator` only.
///
/// An allreduce has no copy phase: when all members have published their buffers, each reduces its
/// share of the elements over all of them and writes the result to all. The other collectives pull:
/// a rank writes its own memory only.
#pragma once

#include <kolam/parallel/communicator.hpp>
#include <kolam/parallel/in_process/state.hpp>

#include <memory>
#include <span>
#include <vector>

namespace kolam::in_process {

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<State> state, int rank);

  const Mesh& mesh() const override { return state_->mesh(); }
  int rank() const override { return rank_; }

  void allreduce(const ExecutionSpace& space, const CollectiveId& id, ReduceOperation operation,
                 Buffer data) override;
  void allgather(const ExecutionSpace& space, const CollectiveId& id, ConstBuffer send,
                 Buffer receive) override;
  void reduce_scatter(const ExecutionSpace& space, const CollectiveId& id,
                      ReduceOperation operation, ConstBuffer send, Buffer receive) override;
  void broadcast(const ExecutionSpace& space, const CollectiveId& id, int root,
                 Buffer data) override;
  void permute(const ExecutionSpace& space, const CollectiveId& id, std::span<const Route> routes,
               ConstBuffer send, Buffer receive) override;
  void barrier(const ExecutionSpace& space, const CollectiveId& id) override;

 private:
  /// This rank's view of a group.
  struct Membership {
    Axes axes;
    Group* group = nullptr;
    /// Ranks in the order of their coordinates along the axes.
    std::vector<int> ranks;
    /// This rank's position among them.
    int index = 0;
    /// The members' memory during a collective, in the same order.
    std::vector<const void*> sources;
    std::vector<void*> targets;

    int size() const { return static_cast<int>(ranks.size()); }
  };

  Membership& membership(const CollectiveId& id);
  template <class Work>
  void collective(const ExecutionSpace& space, Membership& members, const Call& call,
                  const void* send, void* receive, const Work& work);

  std::shared_ptr<State> state_;
  int rank_;
  std::vector<std::unique_ptr<Membership>> memberships_;
};

}  // namespace kolam::in_process

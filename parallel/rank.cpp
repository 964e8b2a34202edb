#include <kolam/parallel/rank.hpp>

#include <utility>

namespace kolam {

Rank::Rank(std::unique_ptr<Communicator> communicator, DeviceInfo device,
           const DeviceOptions& options)
    : RankContext(communicator->mesh(), communicator->rank(), options),
      own_(std::move(communicator)),
      active_(own_.get()),
      device_(std::move(device)) {}

void Rank::sum_over(const Axes& axes, std::string_view label, void* data, ScalarType type,
                    std::int64_t count) {
  if (mesh().group_size(axes) == 1) return;
  active_->allreduce(space(), {axes, label}, ReduceOperation::sum, {data, type, count});
}

}  // namespace kolam

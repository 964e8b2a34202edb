/// \file
/// The one worker that drives one device: an operation's context, with a communicator.
#pragma once

#include <kolam/core/rank_context.hpp>
#include <kolam/parallel/communicator.hpp>
#include <kolam/parallel/devices.hpp>

#include <memory>

namespace kolam {

/// Made by `Session::run` on the thread that uses it; it lives as long as the function it runs.
class Rank : public RankContext {
 public:
  Rank(std::unique_ptr<Communicator> communicator, DeviceInfo device, const DeviceOptions& options);

  Communicator& communicator() { return *communicator_; }
  const DeviceInfo& device() const { return device_; }

  void sum_over(const Axes& axes, std::string_view label, void* data, ScalarType type,
                std::int64_t count) override;

 private:
  std::unique_ptr<Communicator> communicator_;
  DeviceInfo device_;
};

}  // namespace kolam

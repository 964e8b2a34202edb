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

  Communicator& communicator() { return *active_; }
  const DeviceInfo& device() const { return device_; }

  /// Sends all further collectives through another communicator of the same rank, which the caller
  /// keeps alive: one that records them, say.
  void use_communicator(Communicator& communicator) { active_ = &communicator; }

  void sum_over(const Axes& axes, std::string_view label, void* data, ScalarType type,
                std::int64_t count) override;

 private:
  std::unique_ptr<Communicator> own_;
  Communicator* active_;
  DeviceInfo device_;
};

}  // namespace kolam

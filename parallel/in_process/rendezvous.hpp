/// \file
/// Where the members of a group meet: the lock-free part of waiting.
///
/// A rendezvous is used again and again; `generation` counts how often all members have arrived. A
/// member that gives up breaks the generation it waits in: that fails if the last member has
/// arrived meanwhile, so either all members pass or none does.
///
/// What a member wrote before `arrive` is visible to all who see the next generation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace kolam::in_process {

class Rendezvous {
 public:
  static constexpr int max_members = 4096;

  explicit Rendezvous(int members) : members_(static_cast<std::uint64_t>(members)) {}

  /// What a member found on arrival.
  struct Arrival {
    /// The generation it waits in; it may pass once `generation()` is another one.
    std::uint64_t generation;
    /// It was the last one: the generation has changed already.
    bool is_last;
    /// The rendezvous is broken for good; it has not arrived.
    bool is_broken;
  };
  Arrival arrive() noexcept;

  std::uint64_t generation() const noexcept;

  /// Breaks the rendezvous in the given generation. \returns false if all members have arrived.
  bool break_in(std::uint64_t generation) noexcept;

  /// Waits busily until the generation is over. \returns false if it is not over after `duration`.
  bool spin(std::uint64_t generation, std::chrono::microseconds duration) const noexcept;

 private:
  std::uint64_t members_;
  // Bits 0 to 15: members that have arrived; 16 to 62: generation; 63: broken.
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace kolam::in_process

/// \file
/// `Session`: starts Kokkos (or joins it), finds the devices, and runs a function on every rank of
/// a mesh, one thread per device.
///
/// An exception on any rank ends all ranks and is rethrown by `run` with the first cause and the
/// rank's name. A rank that neither ends nor enters a collective (an endless loop) cannot be ended
/// from outside: after the grace time `run` throws `StuckRankError`, leaves that thread behind, and
/// the process should end.
#pragma once

#include <kolam/core/error.hpp>
#include <kolam/parallel/devices.hpp>
#include <kolam/parallel/rank.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kolam {

struct SessionOptions {
  /// Number of devices; none: `KOLAM_DEVICES`, or one per core. May exceed the number of cores;
  /// ranks then share them.
  std::optional<int> devices = {};
  /// Bytes of memory per device; none: its share of the machine's memory.
  std::optional<std::int64_t> memory_limit = {};
  /// How long a rank waits for the others in a collective; none: `KOLAM_DEADLINE` or 60 s.
  std::optional<std::chrono::milliseconds> deadline = {};
  /// How long ranks have to end once one has failed.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  /// Preferred GEMM backend; none: `KOLAM_GEMM`, or what a short measurement chooses.
  std::optional<kernels::GemmBackend> gemm = {};
  /// Whether rank threads are pinned to their cores (never where ranks share cores).
  bool pin_threads = true;
};

/// A rank did not end after another one failed; its thread is still running.
class StuckRankError : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

/// An exception of a type that is not kolam's ended a rank. The original is nested
/// (`std::rethrow_if_nested`).
class RankError : public Error {
 public:
  using Error::Error;
};

class Session {
 public:
  /// Starts Kokkos, unless the program already did: then it is left running at the end.
  /// \throws ConfigurationError for bad options or environment variables.
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<DeviceInfo>& devices() const { return devices_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  const MachineInfo& machine() const { return machine_; }
  /// Bytes that each device may take.
  std::int64_t memory_limit() const { return memory_limit_; }
  /// The GEMM backend that f32 takes, and why.
  const kernels::GemmChoice& gemm_backend() const { return gemm_; }

  /// Runs `function` once on every rank of the mesh, each on its own thread with its own device,
  /// and returns when all have ended. Results leave through what `function` captures; let one rank
  /// write them. Views and Arrays must not. \throws ConfigurationError if the mesh has more ranks
  /// than there are devices; otherwise the
  ///   first exception of any rank, of the same type where it is one of kolam's.
  void run(const Mesh& mesh, const std::function<void(Rank&)>& function);

 private:
  SessionOptions options_;
  MachineInfo machine_;
  std::vector<DeviceInfo> devices_;
  std::int64_t memory_limit_ = 0;
  std::chrono::milliseconds deadline_{};
  kernels::GemmChoice gemm_;
  bool owns_kokkos_ = false;
  bool has_stuck_rank_ = false;
};

}  // namespace kolam

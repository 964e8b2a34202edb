/// \file
/// What an operation needs of the rank it runs on: its device, its place in the mesh, its tape, and
/// a way to have values summed over a mesh axis.
///
/// `core` knows no communication: on one rank there is nothing to sum. `parallel/session.hpp`
/// derives the rank of a mesh from this, which sums through its communicator.
#pragma once

#include <kolam/core/arena.hpp>
#include <kolam/core/array/mesh.hpp>
#include <kolam/core/autodiff/tape.hpp>
#include <kolam/core/kernels/gemm.hpp>
#include <kolam/core/kokkos_compat.hpp>
#include <kolam/core/scalar_type.hpp>

#include <cstdint>
#include <string_view>

namespace kolam {

struct DeviceOptions {
  /// Device memory that this rank may take.
  std::int64_t memory_limit = Arena::no_limit;
  /// Preferred GEMM backend; f64 always takes Kokkos Kernels.
  kernels::GemmBackend gemm = kernels::GemmBackend::kokkos_kernels;
  /// Cores of this machine that no rank has, for helpers such as a loader's thread.
  int spare_cores = 0;
};

class RankContext {
 public:
  /// One rank alone, or rank `rank` of a mesh. Must be made on the thread that uses it, while
  /// Kokkos is initialized.
  explicit RankContext(Mesh mesh = {}, int rank = 0, const DeviceOptions& options = {});
  virtual ~RankContext();
  RankContext(const RankContext&) = delete;
  RankContext& operator=(const RankContext&) = delete;

  const Mesh& mesh() const { return mesh_; }
  /// This rank's number in the mesh.
  int rank() const { return rank_; }
  const ExecutionSpace& space() const { return space_; }
  Arena& arena() { return arena_; }
  Tape& tape() { return tape_; }
  kernels::Gemm& gemm() { return gemm_; }
  /// Cores of this machine that no rank has.
  int spare_cores() const { return spare_cores_; }

  /// Sums `count` elements per rank over the ranks along `axes`, in place; every rank of that group
  /// gets the same bits. Nothing to do where the group is this rank alone.
  /// \throws CommunicationError if the mesh has such ranks but this context cannot reach them.
  virtual void sum_over(const Axes& axes, std::string_view label, void* data, ScalarType type,
                        std::int64_t count);

 private:
  Mesh mesh_;
  int rank_;
  ExecutionSpace space_;
  Arena arena_;
  Tape tape_;
  kernels::Gemm gemm_;
  int spare_cores_;
};

}  // namespace kolam

/// \file
/// The one interface through which ranks exchange data; threads, MPI and NCCL implement it.
///
/// Contract, the same for every implementation:
/// - A collective is called by every rank of a group with the same operation, element type, count,
///   root, axes and label. The group of a rank for a set of axes are the ranks that differ from it
///   along those axes only (`Mesh::group`), in the order of their coordinates.
/// - `count` is always elements per rank: an allgather receives `count * group_size` elements, a
///   reduce_scatter sends that many.
/// - Work is enqueued on the given execution space instance; on host devices the call has completed
///   when it returns.
/// - Reductions add in one fixed order, a binary tree over the group, so that every rank gets the
///   same bits, and gets them again in the next run: reduce(n) = reduce(the first p) + reduce(the
///   other n - p), with p the largest power of two below n. A mean is that sum divided by the group
///   size; of integers it is a `ConfigurationError`. Integer sums wrap around. The minimum or
///   maximum of anything with a NaN is a NaN.
/// - Each call has a sequence number per group and a fingerprint (operation, type, count, root,
///   axes, label). A mismatch, a rank that ended, or a deadline that passed is a
///   `CommunicationError` on every rank of the group, which names the ranks, the call each one was
///   in, and the labels. There is no silent hang and no pairing of unlike calls.
/// - A group of one rank does the same checks and copies, and never waits.
/// - A count of zero is a collective like any other and still synchronises.
/// - What one rank can see to be wrong (a negative count, a buffer of the wrong size, a root
/// outside
///   the group) it refuses before it meets the others, with a `ShapeError` or `ConfigurationError`.
/// - After an error the communicators of these ranks are of no further use.
#pragma once

#include <kolam/core/array/axes.hpp>
#include <kolam/core/array/mesh.hpp>
#include <kolam/core/kokkos_compat.hpp>
#include <kolam/core/scalar_type.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace kolam {

enum class CollectiveKind : std::uint8_t {
  allreduce,
  allgather,
  reduce_scatter,
  broadcast,
  permute,
  barrier
};

/// `allreduce`.
std::string_view name_of(CollectiveKind kind);

enum class ReduceOperation : std::uint8_t { sum, mean, min, max };

/// Memory to read, as it crosses ranks: pointer, element type and count, never a View.
struct ConstBuffer {
  const void* data = nullptr;
  ScalarType type = ScalarType::f32;
  std::int64_t count = 0;
};

/// Memory to write.
struct Buffer {
  void* data = nullptr;
  ScalarType type = ScalarType::f32;
  std::int64_t count = 0;
};

/// Over which axes a collective goes, and the name under which traces, time-outs and profiles
/// report it. The label must outlive the call.
struct CollectiveId {
  Axes axes;
  std::string_view label;
};

/// One pair of a `permute`: the group index that sends and the one that receives.
struct Route {
  int source = 0;
  int target = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const Mesh& mesh() const = 0;
  /// This rank's number in the mesh.
  virtual int rank() const = 0;

  /// Reduces element by element, in place.
  virtual void allreduce(const ExecutionSpace& space, const CollectiveId& id,
                         ReduceOperation operation, Buffer data) = 0;
  /// `receive` holds the group's `send` buffers one after the other. `send` may be this rank's own
  /// block of `receive`, and must not overlap it otherwise.
  virtual void allgather(const ExecutionSpace& space, const CollectiveId& id, ConstBuffer send,
                         Buffer receive) = 0;
  /// Reduces `send` (count * group_size elements) and leaves each rank its own block of `count`.
  /// `receive` may be that block of `send`, and must not overlap it otherwise.
  virtual void reduce_scatter(const ExecutionSpace& space, const CollectiveId& id,
                              ReduceOperation operation, ConstBuffer send, Buffer receive) = 0;
  /// Copies from the rank with group index `root` to all.
  virtual void broadcast(const ExecutionSpace& space, const CollectiveId& id, int root,
                         Buffer data) = 0;
  /// Sends along `routes` (every rank passes the same ones; a source and a target appear at most
  /// once). A rank that is nobody's target receives zeros. `send` and `receive` must not overlap.
  virtual void permute(const ExecutionSpace& space, const CollectiveId& id,
                       std::span<const Route> routes, ConstBuffer send, Buffer receive) = 0;
  virtual void barrier(const ExecutionSpace& space, const CollectiveId& id) = 0;
};

}  // namespace kolam

/// \file
/// One call of a collective as its rank made it: the fingerprint that all ranks of a group must
/// share, and its description in error messages.
#pragma once

#include <kolam/parallel/communicator.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kolam::collective {

using Kind = CollectiveKind;

/// Borrows its label and routes from the caller.
struct Call {
  Kind collective = Kind::barrier;
  /// Of allreduce and reduce_scatter.
  ReduceOperation reduction = ReduceOperation::sum;
  ScalarType type = ScalarType::f32;
  /// Elements per rank.
  std::int64_t count = 0;
  /// Of broadcast.
  int root = 0;
  /// Of permute.
  std::span<const Route> routes = {};
  CollectiveId id = {};
};

/// A call that keeps its label and routes. Storing again reuses the memory.
class StoredCall {
 public:
  void store(const Call& call);
  const Call& get() const { return call_; }

 private:
  Call call_;
  std::string label_;
  std::vector<Route> routes_;
};

/// What differs between two calls, e.g. `count, label`; empty if they match.
std::string differences(const Call& a, const Call& b);

/// `allreduce(sum) of 8 f32 over data, label "gradients"`.
std::string describe(const Call& call);

}  // namespace kolam::collective

/// \file
/// What communication a piece of code causes: every collective with its label, axes, bytes and
/// time.
///
///     CollectiveTrace trace(rank);
///     step();
///     for (const CollectiveRecord& record : trace.records()) ...
///
/// While it lives, a barrier goes before each collective, so that waiting for the others and
/// exchanging data are timed apart. Every rank of the mesh must trace the same code.
#pragma once

#include <kolam/parallel/communicator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kolam {

class Rank;

/// One collective as this rank saw it.
struct CollectiveRecord {
  CollectiveKind kind = CollectiveKind::barrier;
  std::string label;
  Axes axes;
  /// Ranks that took part.
  int group_size = 1;
  /// Elements per rank times their size.
  std::int64_t bytes = 0;
  /// Until the last rank of the group had come.
  double waited_seconds = 0;
  /// From then to the end of the call.
  double seconds = 0;
};

class CollectiveTrace {
 public:
  explicit CollectiveTrace(Rank& rank);
  ~CollectiveTrace();
  CollectiveTrace(const CollectiveTrace&) = delete;
  CollectiveTrace& operator=(const CollectiveTrace&) = delete;

  const std::vector<CollectiveRecord>& records() const { return records_; }

 private:
  Rank& rank_;
  std::vector<CollectiveRecord> records_;
  std::unique_ptr<Communicator> traced_;
  Communicator* before_;
};

}  // namespace kolam

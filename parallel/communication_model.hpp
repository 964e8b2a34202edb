/// \file
/// What a collective should take on this mesh: latency and bandwidth, measured once.
///
/// seconds = latency + bytes / bandwidth(bytes). The bandwidth of an allreduce depends on whether
/// the buffers fit the caches, so it is measured at a few sizes and interpolated between them in
/// the logarithm of the size, each time after other memory was written, as a training step does.
/// Other collectives move a share of what an allreduce moves: an
/// allgather or reduce_scatter one of its two halves, a broadcast or permute the buffer once.
#pragma once

#include <kolam/parallel/rank.hpp>
#include <kolam/parallel/trace.hpp>

#include <cstdint>
#include <vector>

namespace kolam {

class CommunicationModel {
 public:
  /// Bandwidth of an allreduce of so many bytes per rank.
  struct Point {
    std::int64_t bytes = 0;
    double bytes_per_second = 0;
  };

  /// \param bandwidth at least one point, by ascending bytes.
  /// \throws ConfigurationError otherwise.
  CommunicationModel(double latency_seconds, std::vector<Point> bandwidth);

  double latency_seconds() const { return latency_; }
  const std::vector<Point>& bandwidth() const { return bandwidth_; }

  double allreduce_seconds(std::int64_t bytes) const;
  /// \param bytes elements per rank times their size, as in `CollectiveRecord`.
  double seconds(CollectiveKind kind, std::int64_t bytes, int group_size) const;

 private:
  double latency_;
  std::vector<Point> bandwidth_;
};

/// Seconds of one allreduce of so many bytes per rank over the axes: the median of a few, each that
/// of the slowest rank. Every rank of the mesh must call it, and all get the same.
double measure_allreduce(Rank& rank, const Axes& axes, std::int64_t bytes, int rounds = 5);

/// Times allreduces of 8 bytes to `largest_bytes` over the axes; every rank of the mesh must call
/// it, and all get the same model. Takes about 16 times `largest_bytes` over the bandwidth.
CommunicationModel measure_communication(Rank& rank, const Axes& axes,
                                         std::int64_t largest_bytes = std::int64_t{16} << 20);

}  // namespace kolam

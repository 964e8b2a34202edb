#include <kolam/parallel/communication_model.hpp>

#include <kolam/core/error.hpp>
#include <kolam/core/kernels/elementwise.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace kolam {

namespace {

using Clock = std::chrono::steady_clock;

/// Median over a few rounds of the time that the slowest rank takes.
double time_allreduce(Rank& rank, const Axes& axes, const Vector<float>& values, int rounds) {
  const Buffer buffer{values.data(), ScalarType::f32, static_cast<std::int64_t>(values.size())};
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    rank.communicator().barrier(rank.space(), {axes, "model/before allreduce"});
    const Clock::time_point begin = Clock::now();
    rank.communicator().allreduce(rank.space(), {axes, "model/measured allreduce"},
                                  ReduceOperation::sum, buffer);
    rank.space().fence();
    // The first one touches memory that nobody has touched yet.
    if (round > 0) times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  rank.communicator().allreduce(
      rank.space(), {axes, "model/slowest rank"}, ReduceOperation::max,
      {times.data(), ScalarType::f64, static_cast<std::int64_t>(times.size())});
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

CommunicationModel::CommunicationModel(double latency_seconds, std::vector<Point> bandwidth)
    : latency_(latency_seconds), bandwidth_(std::move(bandwidth)) {
  const bool ascends =
      std::is_sorted(bandwidth_.begin(), bandwidth_.end(),
                     [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  if (bandwidth_.empty() || !ascends) {
    throw ConfigurationError(
        "a model of communication needs bandwidths at one size at least, by ascending size");
  }
}

double CommunicationModel::allreduce_seconds(std::int64_t bytes) const {
  if (bytes <= 0) return latency_;
  const auto above = std::find_if(bandwidth_.begin(), bandwidth_.end(),
                                  [&](const Point& point) { return point.bytes >= bytes; });
  const Point& high = above == bandwidth_.end() ? bandwidth_.back() : *above;
  const Point& low = above == bandwidth_.begin() ? high : *(above - 1);
  double bandwidth = high.bytes_per_second;
  if (low.bytes < high.bytes && bytes < high.bytes) {
    const auto position = [&](std::int64_t size) { return std::log2(static_cast<double>(size)); };
    const double share =
        (position(bytes) - position(low.bytes)) / (position(high.bytes) - position(low.bytes));
    bandwidth = low.bytes_per_second + share * (high.bytes_per_second - low.bytes_per_second);
  }
  return latency_ + static_cast<double>(bytes) / bandwidth;
}

double CommunicationModel::seconds(CollectiveKind kind, std::int64_t bytes, int group_size) const {
  const auto moved = [&](double share) {
    return latency_ + share * (allreduce_seconds(bytes) - latency_);
  };
  switch (kind) {
    case CollectiveKind::allreduce:
      return allreduce_seconds(bytes);
    case CollectiveKind::allgather:
    case CollectiveKind::reduce_scatter:
      return latency_ + 0.5 * (allreduce_seconds(bytes * group_size) - latency_);
    case CollectiveKind::broadcast:
    case CollectiveKind::permute:
      return moved(0.5);
    case CollectiveKind::barrier:
      return latency_;
  }
  return latency_;
}

double measure_allreduce(Rank& rank, const Axes& axes, std::int64_t bytes, int rounds) {
  const Block block = rank.arena().allocate(bytes, "the measured allreduce");
  const Vector<float> values(static_cast<float*>(block.data()),
                             static_cast<std::size_t>(bytes / 4));
  kernels::fill(rank.space(), values, 0.0F);
  return time_allreduce(rank, axes, values, rounds);
}

CommunicationModel measure_communication(Rank& rank, const Axes& axes, std::int64_t largest_bytes) {
  const Block block = rank.arena().allocate(largest_bytes, "the measured allreduce");
  const auto part = [&](std::int64_t bytes) {
    return Vector<float>(static_cast<float*>(block.data()), static_cast<std::size_t>(bytes / 4));
  };
  kernels::fill(rank.space(), part(largest_bytes), 0.0F);
  const double latency = time_allreduce(rank, axes, part(8), 50);
  std::vector<CommunicationModel::Point> bandwidth;
  for (std::int64_t bytes = std::int64_t{64} << 10; bytes <= largest_bytes; bytes *= 4) {
    const double seconds = time_allreduce(rank, axes, part(bytes), bytes < (1 << 20) ? 15 : 5);
    const double moving = std::max(seconds - latency, 0.1 * seconds);
    bandwidth.push_back({bytes, static_cast<double>(bytes) / moving});
  }
  return {latency, std::move(bandwidth)};
}

}  // namespace kolam

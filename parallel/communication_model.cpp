#include <kolam/parallel/communication_model.hpp>

#include <kolam/core/error.hpp>
#include <kolam/core/kernels/elementwise.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace kolam {

namespace {

using Clock = std::chrono::steady_clock;

/// Memory that is written between two rounds, so that the timed buffer is no longer in the nearest
/// caches: a training step writes far more than its gradients before it sums them.
constexpr std::int64_t between_rounds = std::int64_t{32} << 20;

Vector<float> floats(const Block& block, std::int64_t bytes) {
  return Vector<float>(static_cast<float*>(block.data()), static_cast<std::size_t>(bytes / 4));
}

/// Times one allreduce as a step would make it.
class AllreduceTimer {
 public:
  AllreduceTimer(Rank& rank, const Axes& axes, std::int64_t largest_bytes)
      : rank_(rank),
        axes_(axes),
        block_(rank.arena().allocate(largest_bytes, "the measured allreduce")),
        scratch_bytes_(std::min(between_rounds, rank.arena().limit() / 4)),
        scratch_(rank.arena().allocate(scratch_bytes_, "memory between measured allreduces")) {}

  /// Median over a few rounds of the time that the slowest rank takes.
  double operator()(std::int64_t bytes, int rounds) {
    const Vector<float> values = floats(block_, bytes);
    std::vector<double> times;
    // The first round touches memory that nobody has touched yet.
    for (int round = 0; round <= rounds; ++round) {
      const double seconds = time_once(values);
      if (round > 0) times.push_back(seconds);
    }
    rank_.communicator().allreduce(
        rank_.space(), {axes_, "model/slowest rank"}, ReduceOperation::max,
        {times.data(), ScalarType::f64, static_cast<std::int64_t>(times.size())});
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[static_cast<std::size_t>(rounds / 2)];
  }

 private:
  double time_once(const Vector<float>& values) {
    kernels::fill(rank_.space(), values, 0.0F);
    if (values.size() > 64) kernels::fill(rank_.space(), floats(scratch_, scratch_bytes_), 0.0F);
    rank_.space().fence();
    // Twice: whoever slept in the first barrier takes a while to wake up.
    rank_.communicator().barrier(rank_.space(), {axes_, "model/before allreduce"});
    rank_.communicator().barrier(rank_.space(), {axes_, "model/all awake"});
    const Clock::time_point begin = Clock::now();
    rank_.communicator().allreduce(
        rank_.space(), {axes_, "model/measured allreduce"}, ReduceOperation::sum,
        {values.data(), ScalarType::f32, static_cast<std::int64_t>(values.size())});
    rank_.space().fence();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  Rank& rank_;
  Axes axes_;
  Block block_;
  std::int64_t scratch_bytes_;
  Block scratch_;
};

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
  return AllreduceTimer(rank, axes, bytes)(bytes, rounds);
}

CommunicationModel measure_communication(Rank& rank, const Axes& axes, std::int64_t largest_bytes) {
  AllreduceTimer time(rank, axes, largest_bytes);
  const double latency = time(8, 50);
  std::vector<CommunicationModel::Point> bandwidth;
  for (std::int64_t bytes = std::int64_t{64} << 10; bytes <= largest_bytes; bytes *= 4) {
    const double seconds = time(bytes, bytes < (1 << 20) ? 15 : 5);
    const double moving = std::max(seconds - latency, 0.1 * seconds);
    bandwidth.push_back({bytes, static_cast<double>(bytes) / moving});
  }
  return {latency, std::move(bandwidth)};
}

}  // namespace kolam

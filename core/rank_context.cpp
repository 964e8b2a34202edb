#include <kolam/core/rank_context.hpp>

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <utility>

namespace kolam {

RankContext::RankContext(Mesh mesh, int rank, const DeviceOptions& options)
    : mesh_(std::move(mesh)),
      rank_(rank),
      space_(compat::rank_instance()),
      arena_(options.memory_limit),
      tape_(arena_),
      gemm_(options.gemm),
      spare_cores_(options.spare_cores) {
  if (rank < 0 || rank >= mesh_.size()) {
    throw ConfigurationError(
        fmt::format("rank {} does not exist in a mesh of {} ranks", rank, mesh_.size()));
  }
}

RankContext::~RankContext() = default;

void RankContext::sum_over(const Axes& axes, std::string_view label, void*, ScalarType,
                           std::int64_t) {
  if (mesh_.group_size(axes) == 1) return;
  throw CommunicationError(fmt::format(
      "\"{}\" sums over {} ranks, but this rank has no communicator; run it in a Session", label,
      mesh_.group_size(axes)));
}

}  // namespace kolam

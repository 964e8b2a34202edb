#include <kolam/parallel/communicator.hpp>

namespace kolam {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::allreduce:
      return "allreduce";
    case CollectiveKind::allgather:
      return "allgather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::permute:
      return "permute";
    case CollectiveKind::barrier:
      return "barrier";
  }
  return "?";
}

}  // namespace kolam

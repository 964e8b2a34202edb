#include <fmt/format.h>
#include <kolam/parallel/call.hpp>

#include <algorithm>
#include <string_view>

namespace kolam::collective {

namespace {

std::string_view name_of(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::sum:
      return "sum";
    case ReduceOperation::mean:
      return "mean";
    case ReduceOperation::min:
      return "min";
    case ReduceOperation::max:
      return "max";
  }
  return "?";
}

std::string describe_routes(std::span<const Route> routes) {
  std::string text;
  for (const Route& route : routes) {
    text += fmt::format("{}{}->{}", text.empty() ? "" : ", ", route.source, route.target);
  }
  return text;
}

/// The operation with what belongs to it alone, e.g. `broadcast(root 1)`.
std::string describe_operation(const Call& call) {
  switch (call.collective) {
    case Kind::allreduce:
      return fmt::format("allreduce({})", name_of(call.reduction));
    case Kind::allgather:
      return "allgather";
    case Kind::reduce_scatter:
      return fmt::format("reduce_scatter({})", name_of(call.reduction));
    case Kind::broadcast:
      return fmt::format("broadcast(root {})", call.root);
    case Kind::permute:
      return fmt::format("permute({})", describe_routes(call.routes));
    case Kind::barrier:
      return "barrier";
  }
  return "?";
}

std::string describe_axes(const Axes& axes) {
  std::string text;
  for (const AxisName& name : axes) {
    text += fmt::format("{}{}", text.empty() ? "" : "+", name.view());
  }
  return text.empty() ? "no axis" : text;
}

bool same_routes(std::span<const Route> a, std::span<const Route> b) {
  return std::ranges::equal(a, b, [](const Route& left, const Route& right) {
    return left.source == right.source && left.target == right.target;
  });
}

}  // namespace

void StoredCall::store(const Call& call) {
  label_.assign(call.id.label);
  routes_.assign(call.routes.begin(), call.routes.end());
  call_ = call;
  call_.id.label = label_;
  call_.routes = routes_;
}

std::string differences(const Call& a, const Call& b) {
  std::string text;
  const auto name_if = [&text](bool differs, std::string_view what) {
    if (differs) text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
  };
  name_if(a.collective != b.collective || a.reduction != b.reduction, "operation");
  name_if(a.type != b.type, "element type");
  name_if(a.count != b.count, "count");
  name_if(a.root != b.root, "root");
  name_if(!same_routes(a.routes, b.routes), "routes");
  name_if(!(a.id.axes == b.id.axes), "axes");
  name_if(a.id.label != b.id.label, "label");
  return text;
}

std::string describe(const Call& call) {
  const std::string elements = call.collective == Kind::barrier
                                   ? std::string()
                                   : fmt::format(" of {} {}", call.count, name_of(call.type));
  return fmt::format("{}{} over {}, label \"{}\"", describe_operation(call), elements,
                     describe_axes(call.id.axes), call.id.label);
}

}  // namespace kolam::collective

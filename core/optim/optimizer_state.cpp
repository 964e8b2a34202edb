#include <kolam/core/optim/optimizer_state.hpp>

namespace kolam::optim::detail {

void require(std::string_view name, double value, bool holds, std::string_view range) {
  if (holds) return;
  throw ConfigurationError(fmt::format("{} is {}; expected a number {}", name, value, range));
}

}  // namespace kolam::optim::detail

#include <kolam/parallel/environment.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <kolam/core/error.hpp>

#include <algorithm>

namespace kolam {

const std::vector<EnvironmentVariable>& known_environment() {
  static const std::vector<EnvironmentVariable> known = {
      {"KOLAM_DATA", "folder of the data set, instead of the places that are searched"},
      {"KOLAM_DEADLINE", "seconds that a rank waits for the others in a collective (60)"},
      {"KOLAM_DEVICES", "number of devices (one per core)"},
      {"KOLAM_GEMM",
       "GEMM backend: onednn or kokkos-kernels (onednn, unless the other is much faster)"},
  };
  return known;
}

void refuse_unknown_environment() {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("KOLAM_")) continue;
    const auto& known = known_environment();
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const auto& entry) { return entry.name == name; });
    if (is_known) continue;
    std::string names;
    for (const auto& entry : known) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    }
    throw ConfigurationError(
        fmt::format("environment variable {} is not one of kolam's ({}); unset it or mend its name",
                    name, names));
  }
}

}  // namespace kolam

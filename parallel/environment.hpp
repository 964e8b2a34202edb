/// \file
/// The environment variables that kolam reads; every other `KOLAM_*` is refused, because an option
/// with a wrong name that is silently ignored costs people hours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kolam {

/// `KOLAM_DATA`, `KOLAM_DEADLINE`, `KOLAM_DEVICES`, `KOLAM_GEMM`, with one line each on what it
/// does.
struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<EnvironmentVariable>& known_environment();

/// \throws ConfigurationError naming the first `KOLAM_*` variable that kolam does not know.
void refuse_unknown_environment();

}  // namespace kolam

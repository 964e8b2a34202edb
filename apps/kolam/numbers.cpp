#include "numbers.hpp"

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <charconv>
#include <cmath>

namespace kolam::app {

namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view token,
                         std::string_view expected) {
  throw ConfigurationError(fmt::format("{} is \"{}\"; expected {}", option, token, expected));
}

/// Reads the whole token; false for rubbish before, behind or instead of a number, and for
/// overflow.
template <class T>
bool read_whole(std::string_view token, T& value) {
  const char* const end = token.data() + token.size();
  const auto [stopped, error] = std::from_chars(token.data(), end, value);
  return error == std::errc() && stopped == end && !token.empty();
}

}  // namespace

std::int64_t parse_integer(std::string_view option, std::string_view token, std::int64_t least,
                           std::int64_t most) {
  std::int64_t value = 0;
  if (read_whole(token, value) && value >= least && value <= most) return value;
  refuse(option, token,
         most == std::numeric_limits<std::int64_t>::max()
             ? fmt::format("a whole number of at least {}", least)
             : fmt::format("a whole number from {} to {}", least, most));
}

double parse_number(std::string_view option, std::string_view token, double least, double most) {
  double value = 0;
  if (read_whole(token, value) && std::isfinite(value) && value >= least && value <= most) {
    return value;
  }
  refuse(option, token, fmt::format("a number from {} to {}, such as 0.001 or 1e-3", least, most));
}

std::int64_t parse_bytes(std::string_view option, std::string_view token) {
  constexpr std::string_view suffixes = "KMGT";
  std::string_view digits = token;
  int shift = 0;
  if (!digits.empty()) {
    const auto suffix = suffixes.find(digits.back());
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      digits.remove_suffix(1);
    }
  }
  std::int64_t value = 0;
  std::int64_t bytes = 0;
  if (read_whole(digits, value) && value > 0 &&
      !__builtin_mul_overflow(value, std::int64_t{1} << shift, &bytes)) {
    return bytes;
  }
  refuse(option, token, "a number of bytes such as 800000000, 512M or 4G");
}

}  // namespace kolam::app

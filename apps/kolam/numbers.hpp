/// \file
/// Numbers from the command line: the whole token or nothing, and independent of the locale.
///
/// `0.001` and `1e-3` are numbers; `0,001`, `0.001x`, ` 1`, `nan`, `inf`, `1e400` and the empty
/// token are refused with the option, the token and what was expected.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace kolam::app {

/// \throws ConfigurationError unless the token is a whole number from `least` to `most`.
std::int64_t parse_integer(std::string_view option, std::string_view token, std::int64_t least,
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// \throws ConfigurationError unless the token is a finite number from `least` to `most`.
double parse_number(std::string_view option, std::string_view token, double least, double most);

/// Bytes, with an optional suffix K, M, G or T (powers of 1024): `512M`.
/// \throws ConfigurationError for anything else, for zero, and beyond 64 bits.
std::int64_t parse_bytes(std::string_view option, std::string_view token);

}  // namespace kolam::app

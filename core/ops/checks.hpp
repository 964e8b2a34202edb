/// \file
/// Run-time checks that several operations share.
#pragma once

#include <cstdint>

namespace kolam::ops::detail {

/// \throws ConfigurationError unless 0 <= mix <= 1.
void check_mix(const char* operation, double mix);

/// \throws ConfigurationError for a negative number of repeats of a block.
void check_repeats(std::int64_t repeats);

/// \throws ConfigurationError below 1.
void check_keep_every(std::int64_t keep_every);

/// \throws DataError saying that a label is no class.
[[noreturn]] void refuse_label(std::int64_t index, std::int64_t label, std::int64_t classes);

}  // namespace kolam::ops::detail

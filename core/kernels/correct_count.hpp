/// \file
/// How many rows have their largest logit at their label.
#pragma once

#include <kolam/core/kokkos_compat.hpp>

#include <cstdint>

namespace kolam::kernels {

/// count = number of rows whose largest logit (the first of equal ones) is at the label; a row with
/// a NaN is never a hit. row_hits is scratch of one element per row.
template <class T>
void correct_count(const ExecutionSpace& space, Matrix<const T> logits,
                   Vector<const std::int32_t> labels, Vector<std::int32_t> row_hits,
                   ScalarView<std::int64_t> count);

}  // namespace kolam::kernels

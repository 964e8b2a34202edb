/// \file
/// Which placement each kind of array of a model takes, as one class that a model is given.
#pragma once

#include <kolam/core/array/placement.hpp>

namespace kolam::models {

/// The batch is split over "data"; parameters are copied to every rank.
struct DataParallel {
  using Images = P<"data", none>;
  using Labels = P<"data">;
  using Weight = P<>;
  using Bias = P<>;
};

}  // namespace kolam::models

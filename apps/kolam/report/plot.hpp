/// \file
/// The geometry of a plot: where points and ticks lie, for the terminal and for pictures.
#pragma once

#include <vector>

#include "document.hpp"

namespace kolam::app {

/// Round values from 0 to at least `largest`, in about four steps of 1, 2 or 5 times a power of
/// ten.
std::vector<double> round_ticks(double largest);

/// Share of the way from the first point to the last one, in the logarithm of x; 0.5 for one point.
double log_position(const Plot& plot, double x);

}  // namespace kolam::app

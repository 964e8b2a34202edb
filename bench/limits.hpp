/// \file
/// What one core of this machine can do at most: the yardstick that rates are compared with.
#pragma once

namespace kolam::bench {

/// Single-precision multiply-adds of one core, counted as two operations each, in GFLOP/s: the best
/// of several rounds of independent vector multiply-adds in registers.
double peak_gflops();

/// The same in double precision.
double peak_gflops_f64();

/// Bytes per second that one core streams from and to memory: the best of several rounds of
/// a[i] = b[i] + s c[i] over arrays that no cache holds (McCalpin's STREAM triad, 3 x 8 bytes per
/// element counted), in GB/s.
double peak_bandwidth();

}  // namespace kolam::bench

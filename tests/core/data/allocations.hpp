/// \file
/// Counts the allocations of the program that links allocations.cpp.
#pragma once

namespace kolam::data::test {

/// Calls of `operator new` so far.
int allocations();

}  // namespace kolam::data::test

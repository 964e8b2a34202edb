// Entry point of the test programs that need Kokkos: starts it once, before the first test.
#include <gtest/gtest.h>

#include <kolam/core/kokkos_compat.hpp>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  kolam::compat::initialize_kokkos();
  const int result = RUN_ALL_TESTS();
  Kokkos::finalize();
  return result;
}

// Entry point of the tests that mpirun starts: MPI and Kokkos around all tests.
#include <gtest/gtest.h>

#include <kolam/core/kokkos_compat.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    // One process tells what runs; what fails is told by each.
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    class Failures : public testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed()) std::fprintf(stderr, "%s\n", result.message());
      }
    };
    listeners.Append(new Failures);
  }
  kolam::compat::initialize_kokkos();
  const int result = RUN_ALL_TESTS();
  Kokkos::finalize();
  MPI_Finalize();
  return result;
}

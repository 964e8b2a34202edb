// `kolam devices`: what this machine offers, and how fast its matrix products are.
#include <fmt/format.h>
#include <kolam/core/kernels/blas_threads.hpp>
#include <kolam/core/kernels/gemm.hpp>
#include <kolam/parallel/session.hpp>

#include <cstdlib>

#include "command.hpp"
#include "study/study.hpp"
#include "terminal/text.hpp"

namespace kolam::app {

namespace {

struct GemmRate {
  kernels::GemmBackend backend;
  double f32 = 0;
  /// 0 where the backend does not do f64.
  double f64 = 0;
};

std::vector<GemmRate> measure_backends() {
  constexpr std::int64_t edge = 512;
  std::vector<GemmRate> rates;
  for (const kernels::GemmBackend backend : kernels::available_gemm_backends()) {
    kernels::Gemm gemm(backend);
    GemmRate rate{backend, kernels::measure_gemm_gflops<float>(gemm, edge)};
    if (gemm.backend_for<double>() == backend) {
      rate.f64 = kernels::measure_gemm_gflops<double>(gemm, edge);
    }
    rates.push_back(rate);
  }
  return rates;
}

std::string gemm_text(const std::vector<GemmRate>& rates, kernels::GemmBackend chosen) {
  Table table("Matrix products (512 x 512 x 512, one core, GFLOP/s)",
              {"backend", "f32", "f64", "carries"});
  for (const GemmRate& rate : rates) {
    const bool is_kernels = rate.backend == kernels::GemmBackend::kokkos_kernels;
    std::string carries = rate.backend == chosen ? "f32" : "";
    if (is_kernels) carries += carries.empty() ? "f64" : ", f64";
    table.add({std::string(kernels::name_of(rate.backend)), short_number(rate.f32),
               rate.f64 > 0 ? short_number(rate.f64) : "-", carries});
  }
  const char* forced = std::getenv("KOLAM_GEMM");
  return table.text() +
         (forced == nullptr
              ? fmt::format("  f32 takes {}: the default of this build. KOLAM_GEMM overrides it.\n",
                            kernels::name_of(chosen))
              : fmt::format("  f32 takes {}, because KOLAM_GEMM says so.\n",
                            kernels::name_of(chosen)));
}

/// OpenBLAS' own name for kernels that fit this processor.
std::string_view openblas_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") != 0) return "Haswell";
#endif
  return "";
}

/// One line if the BLAS is much slower than this processor can be; empty otherwise.
std::string blas_warning(const std::vector<GemmRate>& rates) {
  double best = 0;
  double blas = 0;
  for (const GemmRate& rate : rates) {
    best = std::max(best, rate.f32);
    if (rate.backend == kernels::GemmBackend::kokkos_kernels) blas = rate.f32;
  }
  // Without another backend to compare with: a rate that SSE code reaches.
  constexpr double floor_gflops = 20;
  const bool is_slow = rates.size() > 1 ? blas < 0.5 * best : blas < floor_gflops;
  if (!is_slow) return {};
  const std::string_view kernels_name = openblas_kernels();
  const std::string remedy =
      kernels_name.empty()
          ? std::string("install a BLAS made for this processor")
          : fmt::format("set OPENBLAS_CORETYPE={} if it is OpenBLAS, or install a newer BLAS",
                        kernels_name);
  return fmt::format(
      "kolam: warning: the BLAS behind kokkos-kernels reaches {} GFLOP/s where this core can do {} "
      "or more; f64 is slowed down by it: {}\n",
      short_number(blas), short_number(best), remedy);
}

int run_devices() {
  const Session session;
  kernels::use_one_blas_thread();
  fmt::print("{}\n", devices_text(session.devices()));
  fmt::print("{}\n", listing("Library", {{"memory per device",
                                          bytes_text(static_cast<double>(session.memory_limit()))},
                                         {"Kokkos", compat::kokkos_version()},
                                         {"back end", ExecutionSpace::name()},
                                         {"BLAS", kernels::blas_library()}}));
  const std::vector<GemmRate> rates = measure_backends();
  fmt::print("{}", gemm_text(rates, session.gemm_backend()));
  fmt::print(stderr, "{}", blas_warning(rates));
  return ExitCode::success;
}

}  // namespace

std::function<int()> add_devices_command(CLI::App& program) {
  CLI::App* const command =
      program.add_subcommand("devices", "Devices, Kokkos, and the speed of matrix products");
  command->footer(
      "Lists the devices with their cores, the Kokkos version and back end, and the\n"
      "GEMM backends with their measured speed. Warns about a slow BLAS, with the\n"
      "remedy.\n\n"
      "Example: kolam devices");
  return run_devices;
}

}  // namespace kolam::app

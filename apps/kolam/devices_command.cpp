// `kolam devices`: what this machine offers, and how fast its matrix products are.
#include <fmt/format.h>
#include <kolam/core/kernels/blas_threads.hpp>
#include <kolam/core/kernels/gemm.hpp>
#include <kolam/models/shared_block_mlp.hpp>
#include <kolam/parallel/communication_model.hpp>
#include <kolam/parallel/environment.hpp>
#include <kolam/parallel/session.hpp>
#include <kolam/parallel/topology.hpp>

#include <memory>

#include "command.hpp"
#include "numbers.hpp"
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

Section gemm_section(const std::vector<GemmRate>& rates, const kernels::GemmChoice& chosen) {
  Table table{{"backend", "f32", "f64", "carries"}, {}};
  for (const GemmRate& rate : rates) {
    const bool is_kernels = rate.backend == kernels::GemmBackend::kokkos_kernels;
    std::string carries = rate.backend == chosen.backend ? "f32" : "";
    if (is_kernels) carries += carries.empty() ? "f64" : ", f64";
    table.rows.push_back({std::string(kernels::name_of(rate.backend)), short_number(rate.f32),
                          rate.f64 > 0 ? short_number(rate.f64) : "-", carries});
  }
  return {"Matrix products (512 x 512 x 512, one core, GFLOP/s)",
          {table, Paragraph{fmt::format("f32 takes {}: {}. KOLAM_GEMM overrides it.",
                                        kernels::name_of(chosen.backend), chosen.reason)}}};
}

/// Times of an allreduce over all devices.
struct MeasuredLinks {
  CommunicationModel model{0, {{1, 1}}};
  double gradient_seconds = 0;
};

MeasuredLinks measure_links(Session& session, std::int64_t gradient_bytes) {
  MeasuredLinks links;
  session.run(Mesh{{"data", session.device_count()}}, [&](Rank& rank) {
    const CommunicationModel model = measure_communication(rank, "data");
    const double seconds = measure_allreduce(rank, "data", gradient_bytes);
    if (rank.rank() == 0) links = {model, seconds};
  });
  return links;
}

Section links_section(const Topology& topology, const MeasuredLinks& links,
                      std::int64_t gradient_bytes, int devices) {
  Table table{{"allreduce of", "ms", "GB/s"}, {}};
  for (const CommunicationModel::Point& point : links.model.bandwidth()) {
    const double seconds = links.model.allreduce_seconds(point.bytes);
    table.rows.push_back({bytes_text(static_cast<double>(point.bytes)),
                          fmt::format("{:.3f}", 1000 * seconds),
                          fmt::format("{:.1f}", static_cast<double>(point.bytes) / seconds / 1e9)});
  }
  const Link* const slowest = slowest_link(topology);
  const double milliseconds = 1000 * links.gradient_seconds;
  const std::string meaning = fmt::format(
      "The slowest link between devices is {} ({}). An allreduce of {} of gradients takes {:.3f} "
      "ms over it: for communication to stay below 10 % of a step, the step must compute for at "
      "least {} ms.",
      slowest->name, slowest->meaning, bytes_text(static_cast<double>(gradient_bytes)),
      milliseconds, short_number(9 * milliseconds));
  return {fmt::format("Communication of {} devices", devices), {table, Paragraph{meaning}}};
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

void show(const Section& section) {
  fmt::print("{}", to_text(section));
}

int run_devices(std::int64_t gradient_bytes) {
  refuse_unknown_environment();
  Session session;
  const Topology topology = cpu_topology(session.devices());
  show(devices_section(session.devices(), draw(topology)));
  if (const std::optional<Topology> gpus = gpu_topology()) {
    show({"GPUs (this build computes on CPU cores)", {Drawing{draw(*gpus)}}});
  }
  show({"Library",
        {List{{{"memory per device", bytes_text(static_cast<double>(session.memory_limit()))},
               {"Kokkos", compat::kokkos_version()},
               {"back end", ExecutionSpace::name()},
               {"BLAS", kernels::blas_library()}}}}});
  if (session.device_count() > 1) {
    show(links_section(topology, measure_links(session, gradient_bytes), gradient_bytes,
                       session.device_count()));
  }
  kernels::use_one_blas_thread();
  const std::vector<GemmRate> rates = measure_backends();
  show(gemm_section(rates, session.gemm_backend()));
  fmt::print(stderr, "{}", blas_warning(rates));
  return ExitCode::success;
}

}  // namespace

std::function<int()> add_devices_command(CLI::App& program) {
  CLI::App* const command =
      program.add_subcommand("devices", "Devices, how they are connected, and how fast they are");
  command->get_formatter()->column_width(26);
  const auto bytes = std::make_shared<std::int64_t>(
      4 * models::SharedBlockMlp<models::DataParallel>::parameter_count({}));
  command
      ->add_option_function<std::string>(
          "--gradients",
          [bytes](const std::string& text) { *bytes = parse_bytes("--gradients", text); },
          "size to judge the links by, with K, M or G\n(those of the codelab's network, 7.1 MiB)")
      ->type_name("BYTES");
  command->footer(
      "Lists the devices with their cores, draws how they are connected and says what\n"
      "that means for the gradients of a step, and measures matrix products. Warns\n"
      "about a slow BLAS, with the remedy.\n\n"
      "Example: kolam devices --gradients 64M");
  return [bytes] { return run_devices(*bytes); };
}

}  // namespace kolam::app

// The tables of a study.
#include <fmt/format.h>
#include <kolam/core/array/sharding.hpp>
#include <kolam/models/policies.hpp>

#include "../terminal/text.hpp"
#include "study.hpp"

namespace kolam::app {

std::string devices_text(const std::vector<DeviceInfo>& devices) {
  Table table("Devices", {"device", "kind", "processor", "unit", "package", "NUMA node", "shared"});
  for (const DeviceInfo& device : devices) {
    table.add({fmt::format("{}", device.index), device.kind, device.model,
               fmt::format("{}", device.processing_unit), fmt::format("{}", device.package),
               fmt::format("{}", device.numa_node), device.is_shared ? "yes" : "no"});
  }
  return table.text();
}

std::string workload_text(const Workload& workload, const StudyOptions& options, int devices) {
  const std::string size = options.preset == "quick"
                               ? "quick: smaller than the codelab's (--preset codelab is full size)"
                               : options.preset;
  return listing(
      "Workload",
      {{"preset", size},
       {"data set",
        fmt::format("{}, {} examples", workload.dataset, with_thousands(workload.examples))},
       {"read from", workload.source},
       {"input", fmt::format("{} x {} pixels, {} classes", workload.rows, workload.columns,
                             workload.classes)},
       {"model", fmt::format("shared-block MLP, width {}, {} repeats, mix {:.2f}, GELU {}",
                             with_thousands(options.width), with_thousands(options.repeats),
                             options.mix, options.gelu == GeluForm::tanh ? "tanh" : "exact")},
       {"parameters", fmt::format("{} ({})", with_thousands(workload.parameters),
                                  options.precision == Precision::f32 ? "f32" : "f64")},
       {"gradients per step",
        fmt::format("{:.2f} MB", static_cast<double>(workload.gradient_bytes) / 1e6)},
       {"batch per device", with_thousands(options.batch_per_device)},
       {"global batch",
        fmt::format("{} on 1 device, {} on {} devices", with_thousands(options.batch_per_device),
                    with_thousands(options.batch_per_device * devices), devices)},
       {"optimizer", fmt::format("AdamW, learning rate {}, weight decay {}", options.learning_rate,
                                 options.weight_decay)},
       {"measured",
        fmt::format("median of {} x {} steps after {} warm-up steps, {} batches in turn",
                    options.measurements, options.steps, options.warmup, options.batches)},
       {"seed", fmt::format("{}", options.seed)}});
}

std::string run_text(const std::string& title, const RunResult& run) {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"batch per step", with_thousands(run.global_batch)},
      {"examples/s", short_number(run.examples_per_second)},
      {"ms per step", short_number(run.milliseconds_per_step)},
      {"final loss", fmt::format("{:.4f}", run.final_loss)},
      {"final accuracy", fmt::format("{:.1f} %", 100 * run.final_accuracy)},
      {"peak memory",
       fmt::format("{} per device", bytes_text(static_cast<double>(run.peak_bytes)))}};
  if (run.devices > 1) {
    entries.emplace_back("allreduce", fmt::format("{} ms for the gradients alone",
                                                  short_number(run.allreduce_milliseconds)));
  }
  return listing(title, entries);
}

std::string mesh_text(const std::vector<DeviceInfo>& devices) {
  std::string members;
  for (const DeviceInfo& device : devices) {
    members += fmt::format("{}{}", members.empty() ? "" : ", ", device.index);
  }
  return listing("Mesh", {{"shape", fmt::format("{{\"data\": {}}}", devices.size())},
                          {"axis names", "data"},
                          {"devices", members}});
}

std::string placement_text(const Workload& workload, const StudyOptions& options, int devices) {
  const Mesh mesh{{"data", devices}};
  const std::string_view scalar = options.precision == Precision::f32 ? "f32" : "f64";
  const auto draw = [&](const char* name, const Extents& extents, const Placement& placement) {
    const PartitionSpec spec(placement);
    return fmt::format("  {}: {}, {}\n{}", name, typed_shape(scalar, extents, placement),
                       to_string(spec, extents.dimensions()),
                       visualize_sharding({mesh, spec}, extents));
  };
  return "Placement\n" +
         draw("one batch of images",
              {options.batch_per_device * devices, workload.rows * workload.columns},
              placement_of<models::DataParallel::Images>) +
         draw("w_block", {options.width, options.width},
              placement_of<models::DataParallel::Weight>);
}

std::string comparison_text(const RunResult& baseline, const RunResult& automatic,
                            const Comparison& comparison) {
  Table table("Comparison", {"devices", "batch per step", "examples/s", "ms per step", "ratio"});
  for (const RunResult* run : {&baseline, &automatic}) {
    table.add({fmt::format("{}", run->devices), with_thousands(run->global_batch),
               short_number(run->examples_per_second), short_number(run->milliseconds_per_step),
               fmt::format("{:.2f}", run->examples_per_second / baseline.examples_per_second)});
  }
  const auto bar = [](const RunResult& run) {
    return Bar{fmt::format("{} device{}", run.devices, run.devices == 1 ? "" : "s"),
               run.examples_per_second,
               fmt::format("{} examples/s", short_number(run.examples_per_second))};
  };
  return table.text() + "\n" + bars({bar(baseline), bar(automatic)}) + "\n" +
         wrapped(comparison.message);
}

std::string paths_text(const RunResult& automatic, const RunResult& mapped,
                       const Comparison& comparison) {
  Table table("Automatic against explicit",
              {"path", "examples/s", "ms per step", "final loss", "parameters (SHA-256)"});
  const auto row = [&](const char* name, const RunResult& run) {
    table.add({name, short_number(run.examples_per_second), short_number(run.milliseconds_per_step),
               fmt::format("{:.6f}", run.final_loss), run.digest.substr(0, 16)});
  };
  row("automatic", automatic);
  row("explicit", mapped);
  const std::string bits = comparison.digests_are_equal
                               ? "Both paths end with the same bits in every parameter."
                               : "The paths end with different bits: they divide by the batch at "
                                 "different places, which "
                                 "is exact only for equal slices on a power of two of devices.";
  return table.text() + "\n" +
         wrapped(fmt::format("Explicit runs at {:.2f} times automatic. {}",
                             comparison.explicit_ratio, bits));
}

}  // namespace kolam::app

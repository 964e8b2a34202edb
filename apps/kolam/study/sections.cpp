// The sections of a study.
#include <fmt/format.h>
#include <kolam/core/array/sharding.hpp>
#include <kolam/models/policies.hpp>

#include "../terminal/text.hpp"
#include "study.hpp"

namespace kolam::app {

namespace {

std::string bytes_of(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

std::string axes_text(const Axes& axes) {
  std::string text;
  for (const AxisName& name : axes) {
    text += fmt::format("{}{}", text.empty() ? "" : "+", name.view());
  }
  return text;
}

}  // namespace

Section devices_section(const std::vector<DeviceInfo>& devices, const std::string& topology) {
  Table table{{"device", "kind", "processor", "unit", "package", "NUMA node", "shared"}, {}};
  for (const DeviceInfo& device : devices) {
    table.rows.push_back({fmt::format("{}", device.index), device.kind, device.model,
                          fmt::format("{}", device.processing_unit),
                          fmt::format("{}", device.package), fmt::format("{}", device.numa_node),
                          device.is_shared ? "yes" : "no"});
  }
  Section section{"Devices", {table}};
  if (!topology.empty()) section.elements.emplace_back(Drawing{topology});
  return section;
}

Section workload_section(const Study& study) {
  const Workload& workload = study.workload;
  const StudyOptions& options = study.options;
  const int devices = study.device_count();
  const std::string size = options.preset == "quick"
                               ? "quick: not full size, which is --preset codelab"
                               : options.preset;
  return {
      "Workload",
      {List{{{"preset", size},
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
             {"gradients", fmt::format("{:.2f} MB per step",
                                       static_cast<double>(workload.gradient_bytes) / 1e6)},
             {"batch per device", with_thousands(options.batch_per_device)},
             {"global batch",
              fmt::format("{} on 1 device, {} on {} devices",
                          with_thousands(options.batch_per_device),
                          with_thousands(options.batch_per_device * devices), devices)},
             {"memory needed",
              fmt::format("about {} of {} per device", bytes_of(study.memory.estimate.total()),
                          bytes_of(study.memory.limit_bytes))},
             {"optimizer", fmt::format("AdamW, learning rate {}, weight decay {}",
                                       options.learning_rate, options.weight_decay)},
             {"measured",
              fmt::format("median of {} x {} steps, {} more before, {} batches",
                          options.measurements, options.steps, options.warmup, options.batches)},
             {"seed", fmt::format("{}", options.seed)}}}}};
}

Section run_section(const std::string& title, const RunResult& run) {
  List list{{{"batch per step", with_thousands(run.global_batch)},
             {"examples/s", short_number(run.examples_per_second)},
             {"ms per step", short_number(run.milliseconds_per_step)},
             {"final loss", fmt::format("{:.4f}", run.final_loss)},
             {"final accuracy", fmt::format("{:.1f} %", 100 * run.final_accuracy)},
             {"peak memory", fmt::format("{} per device", bytes_of(run.peak_bytes))}}};
  if (run.devices > 1) {
    const std::size_t count = run.collectives.size();
    list.entries.emplace_back(
        "communication",
        fmt::format("{} ms per step, {} collective{}",
                    short_number(run.communication_milliseconds()), count, count == 1 ? "" : "s"));
  }
  return {title, {list}};
}

Section mesh_section(const Study& study) {
  std::string members;
  for (const DeviceInfo& device : study.devices) {
    members += fmt::format("{}{}", members.empty() ? "" : ", ", device.index);
  }
  return {"Mesh",
          {List{{{"shape", fmt::format("{{\"data\": {}}}", study.devices.size())},
                 {"axis names", "data"},
                 {"devices", members}}}}};
}

Section placement_section(const Study& study) {
  const StudyOptions& options = study.options;
  const Mesh mesh{{"data", study.device_count()}};
  const std::string_view scalar = options.precision == Precision::f32 ? "f32" : "f64";
  const auto draw = [&](const char* name, const Extents& extents, const Placement& placement) {
    const PartitionSpec spec(placement);
    return fmt::format("  {}: {}, {}\n{}", name, typed_shape(scalar, extents, placement),
                       to_string(spec, extents.dimensions()),
                       visualize_sharding({mesh, spec}, extents));
  };
  return {"Placement",
          {Drawing{draw("one batch of images",
                        {options.batch_per_device * study.device_count(),
                         study.workload.rows * study.workload.columns},
                        placement_of<models::DataParallel::Images>) +
                   draw("w_block", {options.width, options.width},
                        placement_of<models::DataParallel::Weight>)}}};
}

Section comparison_section(const Study& study) {
  Table table{{"devices", "batch per step", "examples/s", "ms per step", "ratio"}, {}};
  Bars bars;
  for (const RunResult* run : {&study.baseline, &study.automatic}) {
    table.rows.push_back(
        {fmt::format("{}", run->devices), with_thousands(run->global_batch),
         short_number(run->examples_per_second), short_number(run->milliseconds_per_step),
         fmt::format("{:.2f}", run->examples_per_second / study.baseline.examples_per_second)});
    bars.entries.push_back({fmt::format("{} device{}", run->devices, run->devices == 1 ? "" : "s"),
                            run->examples_per_second,
                            fmt::format("{} examples/s", short_number(run->examples_per_second))});
  }
  return {"Comparison", {table, bars, Paragraph{study.comparison.message}}};
}

Section paths_section(const Study& study) {
  Table table{{"path", "examples/s", "ms per step", "final loss", "parameters (SHA-256)"}, {}};
  const auto row = [&](const char* name, const RunResult& run) {
    table.rows.push_back({name, short_number(run.examples_per_second),
                          short_number(run.milliseconds_per_step),
                          fmt::format("{:.6f}", run.final_loss), run.digest.substr(0, 16)});
  };
  row("automatic", study.automatic);
  row("explicit", study.mapped);
  const std::string bits =
      study.comparison.digests_are_equal
          ? "Both paths end with the same bits in every parameter."
          : "The paths end with different bits: they divide by the batch at different places, "
            "which is exact only for equal slices on a power of two of devices.";
  return {"Automatic against explicit",
          {table, Paragraph{fmt::format("Explicit runs at {:.2f} times automatic. {}",
                                        study.comparison.explicit_ratio, bits)}}};
}

Section collectives_section(const Study& study) {
  Table table{{"path", "label", "collective", "axis", "bytes", "predicted", "measured", "waited"},
              {}};
  const auto add = [&](const char* path, const RunResult& run) {
    for (const CollectiveRecord& record : run.collectives) {
      const double predicted =
          study.communication.seconds(record.kind, record.bytes, record.group_size);
      table.rows.push_back({path, record.label, std::string(name_of(record.kind)),
                            axes_text(record.axes), with_thousands(record.bytes),
                            fmt::format("{:.3f}", 1000 * predicted),
                            fmt::format("{:.3f}", 1000 * record.seconds),
                            fmt::format("{:.3f}", 1000 * record.waited_seconds)});
    }
  };
  add("automatic", study.automatic);
  add("explicit", study.mapped);
  std::string rates;
  for (const CommunicationModel::Point& point : study.communication.bandwidth()) {
    rates += fmt::format("{}{:.1f} GB/s at {}", rates.empty() ? "" : ", ",
                         point.bytes_per_second / 1e9, bytes_of(point.bytes));
  }
  return {"Collectives of one step (ms)",
          {table,
           Paragraph{fmt::format(
               "Predicted from what was measured on this mesh before: a latency of {:.1f} us, and "
               "an allreduce at {}.",
               1e6 * study.communication.latency_seconds(), rates)}}};
}

Section memory_section(const Study& study) {
  const models::MemoryEstimate& estimate = study.memory.estimate;
  const auto row = [](const char* part, std::int64_t bytes) {
    return std::vector<std::string>{part, with_thousands(bytes), bytes_of(bytes)};
  };
  const double ratio =
      static_cast<double>(study.memory.peak_bytes) / static_cast<double>(estimate.total());
  return {"Memory per device",
          {Table{{"part", "bytes", "size"},
                 {row("parameters", estimate.parameters), row("gradients", estimate.gradients),
                  row("optimizer", estimate.optimizer), row("activations", estimate.activations),
                  row("batches", estimate.batch), row("all, estimated", estimate.total()),
                  row("peak, used", study.memory.peak_bytes)}},
           Paragraph{fmt::format("The automatic run took {:.2f} times the estimate, {:.1f} % of "
                                 "the {} that a device may take.",
                                 ratio,
                                 100 * static_cast<double>(study.memory.peak_bytes) /
                                     static_cast<double>(study.memory.limit_bytes),
                                 bytes_of(study.memory.limit_bytes))}}};
}

Plot sweep_plot(const std::vector<SweepPoint>& sweep) {
  Plot plot{"global batch", "examples/s", {}};
  for (const SweepPoint& point : sweep) {
    if (point.outcome != SweepPoint::Outcome::measured) continue;
    plot.points.push_back({static_cast<double>(point.global_batch), point.examples_per_second});
  }
  return plot;
}

namespace {

/// Why a size was not measured.
std::string reason_text(const SweepPoint& point, const Study& study) {
  switch (point.outcome) {
    case SweepPoint::Outcome::measured:
      break;
    case SweepPoint::Outcome::does_not_divide:
      return fmt::format("{} was left out: it does not divide by {} devices.",
                         with_thousands(point.global_batch), study.device_count());
    case SweepPoint::Outcome::too_few_examples:
      return fmt::format("{} was left out: the data set has {} examples.",
                         with_thousands(point.global_batch),
                         with_thousands(study.workload.examples));
    case SweepPoint::Outcome::does_not_fit:
      return fmt::format("{} does not fit: it needs about {} per device, which may take {}.",
                         with_thousands(point.global_batch), bytes_of(point.needed_bytes),
                         bytes_of(study.memory.limit_bytes));
  }
  return {};
}

}  // namespace

Section sweep_section(const Study& study) {
  Table table{{"global batch", "per device", "examples/s", "ms per step", "memory per device"}, {}};
  std::string reasons;
  for (const SweepPoint& point : study.sweep) {
    const std::string reason = reason_text(point, study);
    if (!reason.empty()) {
      reasons += (reasons.empty() ? "" : " ") + reason;
      continue;
    }
    table.rows.push_back({with_thousands(point.global_batch),
                          with_thousands(point.batch_per_device),
                          short_number(point.examples_per_second),
                          short_number(point.milliseconds_per_step), bytes_of(point.peak_bytes)});
  }
  Section section{fmt::format("Batch sweep on {} devices", study.device_count()), {}};
  if (!table.rows.empty()) section.elements.emplace_back(table);
  if (!table.rows.empty()) section.elements.emplace_back(sweep_plot(study.sweep));
  if (!reasons.empty()) section.elements.emplace_back(Paragraph{reasons});
  return section;
}

}  // namespace kolam::app

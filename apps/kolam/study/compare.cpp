// What the figures of a study mean.
#include <fmt/format.h>

#include "../terminal/text.hpp"
#include "study.hpp"

namespace kolam::app {

namespace {

/// Below this a second device has not paid off, noise of the measurement included.
constexpr double least_improvement = 1.05;
/// From this share of a step on, communication is what limits.
constexpr double much_communication = 0.25;

std::string improved_message(const RunResult& baseline, const RunResult& automatic,
                             const Comparison& comparison) {
  const double change = 100 * (comparison.step_time_ratio - 1);
  return fmt::format(
      "Throughput improved {:.2f} times on {} devices ({:.0f} % of the ideal {}): {} instead of {} "
      "examples/s. A step takes {} instead of {} ms ({:+.0f} %), and trains {} examples instead of "
      "{}. Of the step, {:.1f} % is the allreduce of the gradients.",
      comparison.throughput_ratio, automatic.devices, 100 * comparison.efficiency,
      automatic.devices, short_number(automatic.examples_per_second),
      short_number(baseline.examples_per_second), short_number(automatic.milliseconds_per_step),
      short_number(baseline.milliseconds_per_step), change, with_thousands(automatic.global_batch),
      with_thousands(baseline.global_batch), 100 * comparison.communication_share);
}

std::string limited_message(const RunResult& baseline, const RunResult& automatic,
                            const Comparison& comparison, const Workload& workload,
                            const StudyOptions& options, bool devices_share_cores) {
  const std::string facts = fmt::format(
      "Throughput did not improve: {} devices reach {:.2f} times one device ({} against {} "
      "examples/s). ",
      automatic.devices, comparison.throughput_ratio, short_number(automatic.examples_per_second),
      short_number(baseline.examples_per_second));
  if (devices_share_cores) {
    return facts + fmt::format(
                       "The devices share cores, so they cannot be faster; run on a machine "
                       "with at least {} cores.",
                       automatic.devices);
  }
  const std::string advice = fmt::format(
      "Raise --repeats (now {}) or --batch-per-device (now {}), so that a step computes longer for "
      "the same {} of gradients.",
      options.repeats, options.batch_per_device,
      bytes_text(static_cast<double>(workload.gradient_bytes)));
  if (comparison.communication_share >= much_communication) {
    return facts +
           fmt::format(
               "The run is bound by communication: the allreduce of the gradients "
               "alone takes {:.0f} % of the step ({} of {} ms). ",
               100 * comparison.communication_share, short_number(automatic.allreduce_milliseconds),
               short_number(automatic.milliseconds_per_step)) +
           advice;
  }
  return facts +
         fmt::format(
             "The allreduce of the gradients is only {:.0f} % of the step, so the "
             "devices wait for each other or share memory bandwidth; check that "
             "nothing else runs on these cores. ",
             100 * comparison.communication_share) +
         advice;
}

}  // namespace

Comparison compare(const RunResult& baseline, const RunResult& automatic, const RunResult& mapped,
                   const Workload& workload, const StudyOptions& options,
                   bool devices_share_cores) {
  Comparison comparison;
  comparison.throughput_ratio = automatic.examples_per_second / baseline.examples_per_second;
  comparison.efficiency = comparison.throughput_ratio / automatic.devices;
  comparison.step_time_ratio = automatic.milliseconds_per_step / baseline.milliseconds_per_step;
  comparison.communication_share =
      automatic.allreduce_milliseconds / automatic.milliseconds_per_step;
  comparison.has_improved = comparison.throughput_ratio >= least_improvement;
  comparison.explicit_ratio = mapped.examples_per_second / automatic.examples_per_second;
  comparison.digests_are_equal = mapped.digest == automatic.digest;
  comparison.message = comparison.has_improved
                           ? improved_message(baseline, automatic, comparison)
                           : limited_message(baseline, automatic, comparison, workload, options,
                                             devices_share_cores);
  return comparison;
}

}  // namespace kolam::app

// What the figures of a study mean.
#include <fmt/format.h>

#include <cmath>

#include "../terminal/text.hpp"
#include "study.hpp"

namespace kolam::app {

namespace {

/// Below this a second device has not paid off, noise of the measurement included.
constexpr double least_improvement = 1.05;
/// From this share of a step on, communication is what limits.
constexpr double much_communication = 0.25;
/// The share that the advice aims at.
constexpr double little_communication = 0.10;

std::string share_text(const Study& study) {
  const RunResult& run = study.automatic;
  return fmt::format(
      "{:.1f} % of the step is communication ({} of {} ms), {:.1f} % is waiting for the slower "
      "device",
      100 * study.comparison.communication_share, short_number(run.communication_milliseconds()),
      short_number(run.milliseconds_per_step),
      100 * run.waiting_milliseconds() / run.milliseconds_per_step);
}

std::string improved_message(const Study& study) {
  const RunResult& one = study.baseline;
  const RunResult& all = study.automatic;
  const double change = 100 * (study.comparison.step_time_ratio - 1);
  return fmt::format(
      "Throughput improved {:.2f} times on {} devices ({:.0f} % of the ideal {}): {} instead of {} "
      "examples/s. A step takes {} instead of {} ms ({:+.0f} %), and trains {} examples instead of "
      "{}. {}.",
      study.comparison.throughput_ratio, all.devices, 100 * study.comparison.efficiency,
      all.devices, short_number(all.examples_per_second), short_number(one.examples_per_second),
      short_number(all.milliseconds_per_step), short_number(one.milliseconds_per_step), change,
      with_thousands(all.global_batch), with_thousands(one.global_batch), share_text(study));
}

/// How many times longer a step must compute for communication to be little of it. Computing grows
/// with the batch and with the repeats; the gradients of a shared block grow with neither.
std::int64_t factor_for_little_communication(const Study& study) {
  const double communication = study.automatic.communication_milliseconds();
  const double rest = study.automatic.milliseconds_per_step - communication;
  if (!(rest > 0)) return 2;
  const double factor = communication * (1 - little_communication) / (little_communication * rest);
  return std::max<std::int64_t>(2, static_cast<std::int64_t>(std::ceil(factor)));
}

/// What to raise, as far as it can be: a block that is not repeated has no repeats to raise, and a
/// batch cannot be larger than the data set.
std::string advice(const Study& study) {
  const std::int64_t factor = factor_for_little_communication(study);
  const std::int64_t batch = study.options.batch_per_device * factor;
  std::string raise;
  if (study.options.repeats > 0) {
    raise = fmt::format("--repeats from {} to {}", with_thousands(study.options.repeats),
                        with_thousands(study.options.repeats * factor));
  }
  if (batch * study.automatic.devices <= study.workload.examples) {
    raise += fmt::format("{}--batch-per-device from {} to {}", raise.empty() ? "" : " or ",
                         with_thousands(study.options.batch_per_device), with_thousands(batch));
  }
  if (raise.empty()) raise = "--width, or take more examples";
  return fmt::format(
      "Raise {}: a step then computes {} times as long for the same {} of gradients, and "
      "communication falls to about {:.0f} % of it.",
      raise, factor, bytes_text(static_cast<double>(study.workload.gradient_bytes)),
      100 * little_communication);
}

std::string limited_message(const Study& study) {
  const RunResult& all = study.automatic;
  const std::string facts = fmt::format(
      "Throughput did not improve: {} devices reach {:.2f} times one device ({} against {} "
      "examples/s). ",
      all.devices, study.comparison.throughput_ratio, short_number(all.examples_per_second),
      short_number(study.baseline.examples_per_second));
  if (study.devices.front().is_shared) {
    return facts + fmt::format(
                       "The devices share cores, so they cannot be faster; run on a machine "
                       "with at least {} cores.",
                       all.devices);
  }
  if (study.comparison.communication_share >= much_communication) {
    return facts + "The run is bound by communication: " + share_text(study) + ". " + advice(study);
  }
  return facts + share_text(study) +
         ", so communication is not what limits: the devices share memory bandwidth or are "
         "disturbed; check that nothing else runs on these cores, and try a larger --width.";
}

}  // namespace

Comparison compare(const Study& study) {
  Study judged = study;
  Comparison& comparison = judged.comparison;
  const RunResult& one = study.baseline;
  const RunResult& all = study.automatic;
  comparison.throughput_ratio = all.examples_per_second / one.examples_per_second;
  comparison.efficiency = comparison.throughput_ratio / all.devices;
  comparison.step_time_ratio = all.milliseconds_per_step / one.milliseconds_per_step;
  comparison.communication_share = all.communication_milliseconds() / all.milliseconds_per_step;
  comparison.has_improved = comparison.throughput_ratio >= least_improvement;
  comparison.explicit_ratio = study.mapped.examples_per_second / all.examples_per_second;
  comparison.digests_are_equal = study.mapped.digest == all.digest;
  comparison.message = comparison.has_improved ? improved_message(judged) : limited_message(judged);
  return comparison;
}

}  // namespace kolam::app

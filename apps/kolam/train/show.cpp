#include "show.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "../terminal/text.hpp"

namespace kolam::app {

namespace {

using Json = nlohmann::ordered_json;

void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string network_text(const TrainOptions& options) {
  if (options.network == Network::shared_block) {
    return fmt::format("shared-block MLP, width {}, {} repeats", options.width, options.repeats);
  }
  std::string layers;
  for (const std::int64_t units : options.hidden) layers += fmt::format(" {}", units);
  return layers.empty() ? std::string("linear model")
                        : fmt::format("MLP, hidden{}, {}", layers, name_of(options.activation));
}

/// Four decimals, or an exponent where training diverges.
std::string loss_text(double loss) {
  return loss < 1e6 ? fmt::format("{:.4f}", loss) : fmt::format("{:.3e}", loss);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_line(const models::BatchReport& report, std::int64_t epochs) {
  constexpr std::int64_t width = 10;
  const std::int64_t filled = width * report.batch / report.batch_count;
  const double rate = static_cast<double>(report.examples) / report.seconds;
  const double left = report.seconds / static_cast<double>(report.batch) *
                      static_cast<double>(report.batch_count - report.batch +
                                          (epochs - report.epoch) * report.batch_count);
  return fmt::format("epoch {}/{} [{:#<{}}{:-<{}}] loss {:.3f}  acc {:.1f} %  {} ex/s  {} left",
                     report.epoch, epochs, "", filled, "", width - filled, report.loss,
                     100 * report.accuracy, short_number(rate), duration_text(left))
      .substr(0, 79);
}

std::string epoch_line(const models::EpochReport& report, std::int64_t epochs) {
  return fmt::format(
      "epoch {}/{}  loss {}  accuracy {:.2f} %  test loss {}  test accuracy {:.2f} %  {:.1f} s  "
      "{} examples/s",
      report.epoch, epochs, loss_text(report.training.loss), 100 * report.training.accuracy,
      loss_text(report.validation.loss), 100 * report.validation.accuracy, report.seconds,
      short_number(report.examples_per_second));
}

TrainShow::TrainShow(const TrainOptions& options, const TrainSetup& setup)
    : options_(options), setup_(setup) {}

void TrainShow::start() {
  if (options_.json) {
    print_line(Json{{"event", "start"},
                    {"dataset", setup_.dataset},
                    {"training_examples", setup_.training_examples},
                    {"test_examples", setup_.test_examples},
                    {"model", std::string(name_of(options_.network))},
                    {"parameters", setup_.parameters},
                    {"devices", setup_.devices},
                    {"global_batch", options_.batch},
                    {"epochs", options_.epochs},
                    {"optimizer", std::string(name_of(options_.optimizer))},
                    {"learning_rate", options_.learning_rate},
                    {"seed", options_.seed},
                    {"estimated_bytes_per_device", setup_.memory.total()}}
                   .dump());
    return;
  }
  print_line(fmt::format("{}: {} training and {} test examples", setup_.dataset,
                         with_thousands(setup_.training_examples),
                         with_thousands(setup_.test_examples)));
  print_line(fmt::format("{}: {} parameters, about {} per device", network_text(options_),
                         with_thousands(setup_.parameters),
                         bytes_text(static_cast<double>(setup_.memory.total()))));
  print_line(fmt::format("{} device{}, global batch {}, {} at learning rate {}", setup_.devices,
                         setup_.devices == 1 ? "" : "s", options_.batch,
                         name_of(options_.optimizer), options_.learning_rate));
}

void TrainShow::batch(const models::BatchReport& report) {
  if (options_.json || !progress_.is_shown()) return;
  // A terminal reads no faster.
  constexpr std::chrono::milliseconds between(50);
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < between) return;
  shown_ = now;
  progress_.show(progress_line(report, options_.epochs));
}

void TrainShow::epoch(const models::EpochReport& report) {
  progress_.clear();
  if (!options_.json) return print_line(epoch_line(report, options_.epochs));
  print_line(Json{{"event", "epoch"},
                  {"epoch", report.epoch},
                  {"loss", report.training.loss},
                  {"accuracy", report.training.accuracy},
                  {"test_loss", report.validation.loss},
                  {"test_accuracy", report.validation.accuracy},
                  {"test_examples", report.validation.examples},
                  {"seconds", report.seconds},
                  {"examples_per_second", report.examples_per_second}}
                 .dump());
}

void TrainShow::saved(const std::filesystem::path& path, std::int64_t peak_bytes) {
  if (options_.json) {
    print_line(
        Json{{"event", "saved"}, {"path", path.string()}, {"peak_bytes_per_device", peak_bytes}}
            .dump());
    return;
  }
  print_line(fmt::format("saved {}; peak memory {} per device", path.string(),
                         bytes_text(static_cast<double>(peak_bytes))));
}

}  // namespace kolam::app

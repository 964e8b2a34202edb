#include "options.hpp"

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <functional>
#include <map>

#include "../numbers.hpp"

namespace kolam::app {

namespace {

constexpr std::int64_t many = 1'000'000;

using Setter = std::function<void(StudyOptions&, std::string_view, const std::string&)>;

Setter integer(std::int64_t StudyOptions::*field, std::int64_t least, std::int64_t most) {
  return [=](StudyOptions& options, std::string_view name, const std::string& text) {
    options.*field = parse_integer(name, text, least, most);
  };
}

Setter number(double StudyOptions::*field, double least, double most) {
  return [=](StudyOptions& options, std::string_view name, const std::string& text) {
    options.*field = parse_number(name, text, least, most);
  };
}

/// One of two words.
template <class E>
Setter choice(E StudyOptions::*field, std::string_view first_word, E first,
              std::string_view second_word, E second) {
  return [=](StudyOptions& options, std::string_view name, const std::string& text) {
    if (text != first_word && text != second_word) {
      throw ConfigurationError(
          fmt::format("{} is \"{}\"; expected {} or {}", name, text, first_word, second_word));
    }
    options.*field = text == first_word ? first : second;
  };
}

Setter folder(std::optional<std::filesystem::path> StudyOptions::*field) {
  return [=](StudyOptions& options, std::string_view name, const std::string& text) {
    if (text.empty()) {
      throw ConfigurationError(fmt::format("{} is empty; expected a folder", name));
    }
    options.*field = text;
  };
}

/// `256,512`, or `none`.
void set_sweep(StudyOptions& options, std::string_view name, const std::string& text) {
  options.sweep.clear();
  if (text == "none") return;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    options.sweep.push_back(parse_integer(name, text.substr(begin, comma - begin), 1, many));
    begin = comma + 1;
  }
  std::sort(options.sweep.begin(), options.sweep.end());
  options.sweep.erase(std::unique(options.sweep.begin(), options.sweep.end()), options.sweep.end());
}

const std::map<std::string_view, Setter>& setters() {
  using O = StudyOptions;
  static const std::map<std::string_view, Setter> all = {
      {"--width", integer(&O::width, 1, 65536)},
      {"--repeats", integer(&O::repeats, 0, many)},
      {"--mix", number(&O::mix, 0, 1)},
      {"--batch-per-device", integer(&O::batch_per_device, 1, many)},
      {"--batches", integer(&O::batches, 1, many)},
      {"--warmup", integer(&O::warmup, 0, many)},
      {"--steps", integer(&O::steps, 1, many)},
      {"--measurements", integer(&O::measurements, 1, many)},
      {"--sweep", set_sweep},
      {"--sweep-steps", integer(&O::sweep_steps, 1, many)},
      {"--learning-rate", number(&O::learning_rate, 0, 1e6)},
      {"--weight-decay", number(&O::weight_decay, 0, 1e6)},
      {"--seed",
       [](O& options, std::string_view name, const std::string& text) {
         options.seed = static_cast<std::uint64_t>(parse_integer(name, text, 0));
       }},
      {"--gelu", choice(&O::gelu, "tanh", GeluForm::tanh, "exact", GeluForm::exact)},
      {"--precision", choice(&O::precision, "f32", Precision::f32, "f64", Precision::f64)},
      {"--devices",
       [](O& options, std::string_view name, const std::string& text) {
         options.devices = static_cast<int>(parse_integer(name, text, 1, 4096));
       }},
      {"--classes",
       [](O& options, std::string_view name, const std::string& text) {
         options.classes = parse_integer(name, text, 1, many);
       }},
      {"--data", folder(&O::data)},
      {"--report", folder(&O::report)},
      {"--memory-limit",
       [](O& options, std::string_view name, const std::string& text) {
         options.memory_limit = parse_bytes(name, text);
       }},
      {"--deadline",
       [](O& options, std::string_view name, const std::string& text) {
         const double seconds = parse_number(name, text, 0.001, 1e6);
         options.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
       }},
  };
  return all;
}

}  // namespace

StudyOptions study_preset(std::string_view name) {
  if (name == "codelab") return {};
  if (name == "quick") {
    StudyOptions quick;
    quick.preset = "quick";
    quick.width = 512;
    quick.repeats = 16;
    quick.batch_per_device = 256;
    return quick;
  }
  throw ConfigurationError(fmt::format("--preset is \"{}\"; expected quick or codelab", name));
}

void set_study_option(StudyOptions& options, std::string_view name, const std::string& text) {
  const auto found = setters().find(name);
  if (found == setters().end()) {
    throw ConfigurationError(fmt::format("the study has no option {}", name));
  }
  found->second(options, name, text);
}

}  // namespace kolam::app

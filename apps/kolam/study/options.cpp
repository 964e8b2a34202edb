#include "options.hpp"

#include "../option_setters.hpp"

namespace kolam::app {

namespace {

/// In ascending order, each once.
void set_sweep(StudyOptions& options, std::string_view name, const std::string& text) {
  integers(&StudyOptions::sweep, 1, many)(options, name, text);
  std::sort(options.sweep.begin(), options.sweep.end());
  options.sweep.erase(std::unique(options.sweep.begin(), options.sweep.end()), options.sweep.end());
}

const Setters<StudyOptions>& study_setters() {
  using O = StudyOptions;
  static const Setters<O> all = [] {
    Setters<O> setters = {
        {"--width", integer(&O::width, 1, 65536)},
        {"--repeats", integer(&O::repeats, 0)},
        {"--mix", number(&O::mix, 0, 1)},
        {"--keep-every", integer(&O::keep_every, 1)},
        {"--batch-per-device", integer(&O::batch_per_device, 1)},
        {"--batches",
         [](O& options, std::string_view name, const std::string& text) {
           integer(&O::batches, 1)(options, name, text);
           options.batches_are_given = true;
         }},
        {"--warmup", integer(&O::warmup, 0)},
        {"--steps", integer(&O::steps, 1)},
        {"--measurements", integer(&O::measurements, 1)},
        {"--sweep", set_sweep},
        {"--sweep-steps", integer(&O::sweep_steps, 1)},
        {"--learning-rate", number(&O::learning_rate, 0, 1e6)},
        {"--weight-decay", number(&O::weight_decay, 0, 1e6)},
        {"--gelu",
         choice<O, GeluForm>(&O::gelu, {{"tanh", GeluForm::tanh}, {"exact", GeluForm::exact}})},
        {"--precision",
         choice<O, Precision>(&O::precision, {{"f32", Precision::f32}, {"f64", Precision::f64}})},
        {"--classes",
         [](O& options, std::string_view name, const std::string& text) {
           options.classes = parse_integer(name, text, 1, many);
         }},
        {"--report", path(&O::report, "a folder")},
    };
    setters.merge(session_setters<O>());
    return setters;
  }();
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
  set_option(study_setters(), options, name, text);
}

}  // namespace kolam::app

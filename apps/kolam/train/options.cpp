#include "options.hpp"

#include "../option_setters.hpp"

namespace kolam::app {

namespace {

using O = TrainOptions;

const Setters<O>& train_setters() {
  using models::Activation;
  static const Setters<O> all = [] {
    Setters<O> setters = {
        {"--model", choice<O, Network>(&O::network, {{"shared-block", Network::shared_block},
                                                     {"mlp", Network::mlp}})},
        {"--hidden", integers(&O::hidden, 1, 65536)},
        {"--activation",
         choice<O, Activation>(&O::activation, {{"relu", Activation::relu},
                                                {"gelu", Activation::gelu_tanh},
                                                {"gelu-exact", Activation::gelu_exact}})},
        {"--width", integer(&O::width, 1, 65536)},
        {"--repeats", integer(&O::repeats, 0)},
        {"--mix", number(&O::mix, 0, 1)},
        {"--keep-every", integer(&O::keep_every, 1)},
        {"--gelu",
         choice<O, GeluForm>(&O::gelu, {{"tanh", GeluForm::tanh}, {"exact", GeluForm::exact}})},
        {"--epochs", integer(&O::epochs, 1)},
        {"--batch", integer(&O::batch, 1)},
        {"--optimizer", choice<O, OptimizerKind>(&O::optimizer, {{"adamw", OptimizerKind::adamw},
                                                                 {"adam", OptimizerKind::adam},
                                                                 {"sgd", OptimizerKind::sgd}})},
        {"--learning-rate", number(&O::learning_rate, 0, 1e6)},
        {"--weight-decay", number(&O::weight_decay, 0, 1e6)},
        {"--momentum", number(&O::momentum, 0, 0.999999)},
        {"--save", path(&O::save, "a file, or none")},
    };
    setters.merge(session_setters<O>());
    return setters;
  }();
  return all;
}

}  // namespace

void set_train_option(TrainOptions& options, std::string_view name, const std::string& text) {
  set_option(train_setters(), options, name, text);
  if (name == "--save" && text == "none") options.save.reset();
}

void check_train_options(const TrainOptions& options, const std::set<std::string>& given) {
  const auto refuse = [&](std::initializer_list<const char*> names, bool is_meant,
                          const char* where) {
    for (const char* name : names) {
      if (is_meant || !given.contains(name)) continue;
      throw ConfigurationError(fmt::format("{} means nothing here; it is for {}", name, where));
    }
  };
  const bool is_mlp = options.network == Network::mlp;
  refuse({"--hidden", "--activation"}, is_mlp, "--model mlp");
  refuse({"--width", "--repeats", "--mix", "--keep-every", "--gelu"}, !is_mlp,
         "--model shared-block");
  refuse({"--weight-decay"}, options.optimizer == OptimizerKind::adamw, "--optimizer adamw");
  refuse({"--momentum"}, options.optimizer == OptimizerKind::sgd, "--optimizer sgd");
}

std::string_view name_of(Network network) {
  return network == Network::mlp ? "mlp" : "shared-block";
}

std::string_view name_of(OptimizerKind optimizer) {
  switch (optimizer) {
    case OptimizerKind::adamw:
      return "adamw";
    case OptimizerKind::adam:
      return "adam";
    case OptimizerKind::sgd:
      return "sgd";
  }
  return "?";
}

std::string_view name_of(models::Activation activation) {
  switch (activation) {
    case models::Activation::relu:
      return "relu";
    case models::Activation::gelu_tanh:
      return "gelu";
    case models::Activation::gelu_exact:
      return "gelu-exact";
  }
  return "?";
}

}  // namespace kolam::app

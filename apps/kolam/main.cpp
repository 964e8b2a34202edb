// The kolam program. Every error ends here, as one line on standard error and an exit code.
#include <fmt/format.h>
#include <kolam/core/error.hpp>
#include <kolam/parallel/session.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "command.hpp"

namespace {

using kolam::app::ExitCode;

int report(std::string message, int code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fflush(stdout);
  fmt::print(stderr, "kolam: {}\n", message);
  return code;
}

using Commands = std::vector<std::pair<std::string, std::function<int()>>>;

/// CLI11 would only say that a command is missing.
void refuse_unknown_command(int argc, char** argv, const Commands& commands) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string names;
  for (const auto& [name, command] : commands) {
    if (name == argv[1]) return;
    const bool is_last = name == commands.back().first;
    names += fmt::format("{}{}", names.empty() ? "" : is_last ? " or " : ", ", name);
  }
  throw kolam::ConfigurationError(fmt::format("\"{}\" is no command; expected {}", argv[1], names));
}

int run(int argc, char** argv) {
  CLI::App program(
      "kolam trains neural networks across devices.\n\n"
      "Example: kolam study --preset quick");
  program.name("kolam");
  program.set_version_flag("--version", "kolam " KOLAM_VERSION);
  program.require_subcommand(1);
  const Commands commands = {
      {"devices", kolam::app::add_devices_command(program)},
      {"study", kolam::app::add_study_command(program)},
      {"train", kolam::app::add_train_command(program)},
  };
  refuse_unknown_command(argc, argv, commands);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& wish) {
    return program.exit(wish);
  } catch (const CLI::ParseError& error) {
    return report(fmt::format("{}; see kolam --help", error.what()), ExitCode::usage);
  }
  for (const auto& [name, command] : commands) {
    if (program.got_subcommand(name)) return command();
  }
  return ExitCode::usage;
}

}  // namespace

/// Exit codes: 0 success; 1 the run failed; 2 the command line, the environment or the machine does
/// not allow it.
int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const kolam::StuckRankError& error) {
    // A thread is still running: no destructor may be run under it.
    report(error.what(), ExitCode::failure);
    std::_Exit(ExitCode::failure);
  } catch (const kolam::ConfigurationError& error) {
    return report(error.what(), ExitCode::usage);
  } catch (const std::bad_alloc&) {
    return report(
        "out of memory on the host; use a smaller batch, fewer batches or a smaller model",
        ExitCode::failure);
  } catch (const std::exception& error) {
    return report(error.what(), ExitCode::failure);
  }
}

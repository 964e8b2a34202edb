/// \file
/// How a command of the program looks: it adds itself to the command line and runs.
///
/// A new command is one file that defines such a function, and one line in `main.cpp`.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace kolam::app {

/// What the program returns to the shell.
struct ExitCode {
  static constexpr int success = 0;
  /// The run failed: bad data, out of memory, a rank that failed.
  static constexpr int failure = 1;
  /// The command line, the environment or the machine does not allow the run.
  static constexpr int usage = 2;
};

/// Adds the command to the program. \returns what runs it, once the command line was parsed.
std::function<int()> add_devices_command(CLI::App& program);
std::function<int()> add_study_command(CLI::App& program);
std::function<int()> add_train_command(CLI::App& program);

}  // namespace kolam::app

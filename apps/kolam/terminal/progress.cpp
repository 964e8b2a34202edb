#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace kolam::app {

Progress::Progress() : is_terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::show(const std::string& line) {
  if (!is_terminal_) return;
  // Carriage return, erase to the end of the line.
  fmt::print("\r\033[K{}", line.substr(0, 79));
  std::fflush(stdout);
  has_line_ = true;
}

void Progress::clear() {
  if (!has_line_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  has_line_ = false;
}

}  // namespace kolam::app

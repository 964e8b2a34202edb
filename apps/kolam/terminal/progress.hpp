/// \file
/// One line that is rewritten while work goes on, on a terminal only: nothing of it reaches a file.
#pragma once

#include <string>

namespace kolam::app {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_shown() const { return is_terminal_; }
  void show(const std::string& line);
  void clear();

 private:
  bool is_terminal_;
  bool has_line_ = false;
};

}  // namespace kolam::app

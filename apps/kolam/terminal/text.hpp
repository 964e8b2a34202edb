/// \file
/// How figures look on the terminal: independent of the locale, 80 columns, plain ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kolam::app {

/// `60,000`.
std::string with_thousands(std::int64_t value);
/// `3,622` from 100 on, `36.2` from 10 on, `3.62` below.
std::string short_number(double value);
/// `512.0 MiB`.
std::string bytes_text(double bytes);

/// Columns of text under a title. A column of numbers is aligned to the right.
class Table {
 public:
  Table(std::string title, std::vector<std::string> header);
  /// \param row one cell per column.
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

/// Names and values under a title, one a line.
std::string listing(std::string_view title,
                    const std::vector<std::pair<std::string, std::string>>& entries);

/// One bar of `#` per entry, the longest for the largest value.
struct Bar {
  std::string name;
  double value = 0;
  std::string label;
};
std::string bars(const std::vector<Bar>& entries);

/// Breaks a sentence at spaces, so that no line is longer than `width`.
std::string wrapped(std::string_view sentence, std::size_t width = 80);

}  // namespace kolam::app

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kolam::app {

std::string with_thousands(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (auto position = static_cast<std::ptrdiff_t>(digits.size()) - 3;
       position > static_cast<std::ptrdiff_t>(first); position -= 3) {
    digits.insert(static_cast<std::size_t>(position), ",");
  }
  return digits;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (std::abs(value) >= 99.95) return with_thousands(std::llround(value));
  return std::abs(value) >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

Table::Table(std::string title, std::vector<std::string> header) : title_(std::move(title)) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

namespace {

bool looks_like_a_number(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell.front())) != 0 ||
                           cell.front() == '-' || cell.front() == '+');
}

}  // namespace

std::string Table::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> is_right(columns, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !looks_like_a_number(rows_[r][c])) is_right[c] = false;
    }
  }
  std::string text = title_ + "\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line = " ";
    for (std::size_t c = 0; c < columns; ++c) {
      line += is_right[c] ? fmt::format(" {:>{}} ", rows_[r][c], widths[c])
                          : fmt::format(" {:<{}} ", rows_[r][c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r > 0) continue;
    std::string rule = " ";
    for (const std::size_t width : widths) rule += fmt::format(" {:-<{}} ", "", width);
    rule.erase(rule.find_last_not_of(' ') + 1);
    text += rule + "\n";
  }
  return text;
}

std::string listing(std::string_view title,
                    const std::vector<std::pair<std::string, std::string>>& entries) {
  std::size_t width = 0;
  for (const auto& [name, value] : entries) width = std::max(width, name.size());
  std::string text = fmt::format("{}\n", title);
  for (const auto& [name, value] : entries) {
    text += fmt::format("  {:<{}}  {}\n", name, width, value);
  }
  return text;
}

std::string bars(const std::vector<Bar>& entries) {
  constexpr double longest_bar = 36;
  std::size_t width = 0;
  double largest = 0;
  for (const Bar& bar : entries) {
    width = std::max(width, bar.name.size());
    largest = std::max(largest, bar.value);
  }
  std::string text;
  for (const Bar& bar : entries) {
    const double share = largest > 0 ? bar.value / largest : 0;
    const auto length = static_cast<std::size_t>(std::llround(longest_bar * share));
    text += fmt::format("  {:<{}}  {:#<{}} {}\n", bar.name, width, "", length, bar.label);
  }
  return text;
}

std::string wrapped(std::string_view sentence, std::size_t width) {
  std::string text;
  std::size_t column = 0;
  while (!sentence.empty()) {
    const std::size_t space = sentence.find(' ');
    const std::string_view word = sentence.substr(0, space);
    if (column > 0 && column + 1 + word.size() > width) {
      text += "\n";
      column = 0;
    }
    if (column > 0) text += " ";
    column += word.size() + (column > 0 ? 1 : 0);
    text += word;
    sentence = space == std::string_view::npos ? std::string_view() : sentence.substr(space + 1);
  }
  return text + "\n";
}

}  // namespace kolam::app

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

bool looks_like_a_number(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell.front())) != 0 ||
                           cell.front() == '-' || cell.front() == '+');
}

namespace {

struct Column {
  std::size_t width = 0;
  bool is_right = false;
};

std::vector<Column> columns_of(const Table& table) {
  std::vector<Column> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Column column{table.columns[c].size(), !table.rows.empty()};
    for (const auto& row : table.rows) {
      column.width = std::max(column.width, row[c].size());
      if (!looks_like_a_number(row[c])) column.is_right = false;
    }
    columns.push_back(column);
  }
  return columns;
}

std::string line_of(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string line = " ";
  for (std::size_t c = 0; c < columns.size(); ++c) {
    line += columns[c].is_right ? fmt::format(" {:>{}} ", cells[c], columns[c].width)
                                : fmt::format(" {:<{}} ", cells[c], columns[c].width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string text_of(const Table& table) {
  const std::vector<Column> columns = columns_of(table);
  std::vector<std::string> rules;
  for (const Column& column : columns) rules.emplace_back(column.width, '-');
  std::string text = line_of(columns, table.columns) + line_of(columns, rules);
  for (const auto& row : table.rows) text += line_of(columns, row);
  return text;
}

std::string text_of(const List& list) {
  std::size_t width = 0;
  for (const auto& [name, value] : list.entries) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : list.entries) {
    text += fmt::format("  {:<{}}  {}\n", name, width, value);
  }
  return text;
}

std::string text_of(const Bars& bars) {
  constexpr double longest_bar = 36;
  std::size_t width = 0;
  double largest = 0;
  for (const Bar& bar : bars.entries) {
    width = std::max(width, bar.name.size());
    largest = std::max(largest, bar.value);
  }
  std::string text;
  for (const Bar& bar : bars.entries) {
    const double share = largest > 0 ? bar.value / largest : 0;
    const auto length = static_cast<std::size_t>(std::llround(longest_bar * share));
    text += fmt::format("  {:<{}}  {:#<{}} {}\n", bar.name, width, "", length, bar.label);
  }
  return text;
}

std::string text_of(const Drawing& drawing) {
  return drawing.text;
}

std::string text_of(const Paragraph& paragraph) {
  return wrapped(paragraph.text);
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

std::string to_text(const Section& section) {
  std::string text = section.title + "\n";
  for (std::size_t i = 0; i < section.elements.size(); ++i) {
    if (i > 0) text += "\n";
    text += std::visit([](const auto& element) { return text_of(element); }, section.elements[i]);
  }
  return text + "\n";
}

}  // namespace kolam::app

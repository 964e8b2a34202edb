/// \file
/// What a command has to show, as values: sections of tables, lists, bars, plots, drawings and
/// text.
///
/// Everything is said once here and drawn three times: on the terminal (80 columns, plain ASCII),
/// as a page, and as the tables of results.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kolam::app {

/// Columns of text; a column of numbers is aligned to the right.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Names and values, one a line.
struct List {
  std::vector<std::pair<std::string, std::string>> entries;
};

struct Bar {
  std::string name;
  double value = 0;
  /// What stands behind the bar.
  std::string label;
};
/// One bar per entry, the longest for the largest value.
struct Bars {
  std::vector<Bar> entries;
};

/// A line over a base-2 logarithmic axis, from 0 upwards.
struct Plot {
  struct Point {
    double x = 0;
    double y = 0;
  };
  std::string x_label;
  std::string y_label;
  /// By ascending x, which is above 0.
  std::vector<Point> points;
};

/// Text whose spaces and line ends count.
struct Drawing {
  std::string text;
};

/// Sentences, broken where the line ends.
struct Paragraph {
  std::string text;
};

using Element = std::variant<Table, List, Bars, Plot, Drawing, Paragraph>;

struct Section {
  std::string title;
  std::vector<Element> elements;
};

/// The section for the terminal, with an empty line at its end.
std::string to_text(const Section& section);

/// A whole page that needs no network and no script: readable on a phone, in print, light and dark.
std::string to_html(const std::string& title, const std::vector<Section>& sections);

/// The plot as a picture of its own.
std::string to_svg(const Plot& plot);

/// `[{"section", "columns", "rows"}]`: every table and list, in order.
nlohmann::ordered_json tables_json(const std::vector<Section>& sections);

}  // namespace kolam::app

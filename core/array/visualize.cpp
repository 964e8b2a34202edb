// Draws a sharding as boxes of text: one cell per distinct slice, with the ranks that hold it.
#include <fmt/format.h>
#include <kolam/core/array/sharding.hpp>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace kolam {

namespace {

using Cell = std::vector<int>;

struct Grid {
  std::vector<Slice> rows;
  std::vector<Slice> columns;
  std::vector<std::vector<Cell>> cells;
};

std::vector<Slice> distinct(std::vector<Slice> slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::pair(a.begin, a.length) < std::pair(b.begin, b.length);
  });
  slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
  return slices;
}

Grid grid_of(const NamedSharding& sharding, const Extents& extents) {
  const bool is_matrix = extents.dimensions() == 2;
  std::vector<Slice> rows;
  std::vector<Slice> columns;
  for (int rank = 0; rank < sharding.mesh.size(); ++rank) {
    const auto slices = sharding.slices(extents, rank);
    rows.push_back(is_matrix ? slices[0] : Slice{});
    columns.push_back(is_matrix ? slices[1] : slices[0]);
  }
  Grid grid{distinct(rows), distinct(columns), {}};
  grid.cells.assign(grid.rows.size(), std::vector<Cell>(grid.columns.size()));
  const auto index_of = [](const std::vector<Slice>& all, const Slice& one) {
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), one) - all.begin());
  };
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    grid.cells[index_of(grid.rows, rows[rank])][index_of(grid.columns, columns[rank])].push_back(
        static_cast<int>(rank));
  }
  return grid;
}

/// `0`, `0,2` or `0-3`: runs of three and more are shortened.
std::string ranks_text(const Cell& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last - i < 2) last = i;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (last > i) text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string cell_text(const Cell& ranks) {
  if (ranks.empty()) return "nobody";
  return fmt::format("device{} {}", ranks.size() == 1 ? "" : "s", ranks_text(ranks));
}

std::string range_text(const Slice& slice) {
  return slice.length == 0 ? std::string("empty")
                           : fmt::format("{}:{}", slice.begin, slice.begin + slice.length);
}

std::string line(const std::vector<std::size_t>& widths, std::size_t margin) {
  std::string text(margin, ' ');
  for (const std::size_t width : widths) text += fmt::format("+{:-<{}}", "", width + 2);
  return text + "+\n";
}

}  // namespace

std::string visualize_sharding(const NamedSharding& sharding, const Extents& extents) {
  if (extents.dimensions() != 1 && extents.dimensions() != 2) {
    throw ShapeError(fmt::format(
        "visualize_sharding draws arrays of one or two dimensions, found {}", to_string(extents)));
  }
  const bool is_matrix = extents.dimensions() == 2;
  const Grid grid = grid_of(sharding, extents);

  std::size_t margin = 0;
  if (is_matrix) {
    for (const Slice& row : grid.rows) margin = std::max(margin, range_text(row).size() + 1);
  }
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    std::size_t width = range_text(grid.columns[column]).size();
    for (const auto& row : grid.cells) width = std::max(width, cell_text(row[column]).size());
    widths.push_back(width);
  }

  std::string text(margin, ' ');
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    text += fmt::format("  {:^{}}", range_text(grid.columns[column]), widths[column] + 1);
  }
  text = text.substr(0, text.find_last_not_of(' ') + 1) + "\n" + line(widths, margin);
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    if (is_matrix) text += fmt::format("{:>{}} ", range_text(grid.rows[row]), margin - 1);
    for (std::size_t column = 0; column < grid.columns.size(); ++column) {
      text += fmt::format("| {:^{}} ", cell_text(grid.cells[row][column]), widths[column]);
    }
    text += "|\n" + line(widths, margin);
  }
  return text;
}

}  // namespace kolam

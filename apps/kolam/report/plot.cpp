#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../terminal/text.hpp"

namespace kolam::app {

std::vector<double> round_ticks(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return {0, 1};
  const double power = std::pow(10.0, std::floor(std::log10(largest / 4)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power * 5 >= largest) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < largest; ++i) ticks.push_back(i * step);
  return ticks;
}

double log_position(const Plot& plot, double x) {
  const double first = std::log2(plot.points.front().x);
  const double last = std::log2(plot.points.back().x);
  return last > first ? (std::log2(x) - first) / (last - first) : 0.5;
}

namespace {

double largest_y(const Plot& plot) {
  double largest = 0;
  for (const Plot::Point& point : plot.points) largest = std::max(largest, point.y);
  return largest;
}

}  // namespace

std::string text_of(const Plot& plot) {
  if (plot.points.empty()) return "  (no points)\n";
  constexpr std::size_t width = 60;
  constexpr std::size_t height = 10;
  const double top = round_ticks(largest_y(plot)).back();
  std::vector<std::string> lines(height + 1, std::string(width, ' '));
  std::string ticks(width + 8, ' ');
  for (const Plot::Point& point : plot.points) {
    const auto column = static_cast<std::size_t>(
        std::lround(log_position(plot, point.x) * static_cast<double>(width - 1)));
    const auto row =
        height - static_cast<std::size_t>(std::lround(point.y / top * static_cast<double>(height)));
    for (std::size_t below = row + 1; below <= height; ++below) lines[below][column] = '.';
    lines[row][column] = '*';
    const std::string label = with_thousands(std::llround(point.x));
    const std::size_t start = column < label.size() / 2 ? 0 : column - label.size() / 2;
    ticks.replace(start, label.size(), label);
  }
  const std::string top_label = short_number(top);
  const std::string middle_label = short_number(top / 2);
  const std::size_t margin = std::max(top_label.size(), middle_label.size()) + 2;
  std::string text = fmt::format("  {}\n", plot.y_label);
  for (std::size_t row = 0; row <= height; ++row) {
    const std::string label = row == 0            ? top_label
                              : row == height / 2 ? middle_label
                              : row == height     ? "0"
                                                  : "";
    std::string line = fmt::format("{:>{}} |{}", label, margin, lines[row]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("{:>{}} +{:-<{}}\n", "", margin, "", width);
  ticks.erase(ticks.find_last_not_of(' ') + 1);
  text += fmt::format("{:>{}}  {}\n", "", margin, ticks);
  return text +
         fmt::format("{:>{}}  {} (each step twice the one before)\n", "", margin, plot.x_label);
}

namespace {

constexpr double svg_width = 420;
constexpr double svg_height = 280;
constexpr double left = 62;
constexpr double right = 400;
constexpr double top = 34;
constexpr double bottom = 228;

double x_of(const Plot& plot, double x) {
  return left + 22 + log_position(plot, x) * (right - left - 44);
}

double y_of(double largest, double y) {
  return bottom - y / largest * (bottom - top);
}

std::string grid_svg(const Plot& plot, const std::vector<double>& ticks) {
  std::string svg;
  for (const double tick : ticks) {
    const double y = y_of(ticks.back(), tick);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, y, right, y, left - 8, y + 4, tick == 0 ? "0" : short_number(tick));
  }
  for (const Plot::Point& point : plot.points) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       x_of(plot, point.x), bottom + 20, with_thousands(std::llround(point.x)));
  }
  return svg;
}

std::string line_svg(const Plot& plot, double largest) {
  std::string path;
  std::string dots;
  for (const Plot::Point& point : plot.points) {
    const double x = x_of(plot, point.x);
    const double y = y_of(largest, point.y);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x, y);
    dots += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", x, y);
  }
  return fmt::format("<path class=\"line\" d=\"{}\"/>\n{}", path, dots);
}

}  // namespace

std::string to_svg(const Plot& plot) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{} over {}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
      "<style>\n"
      ".grid{{stroke:#8886;stroke-width:1}}\n"
      ".line{{fill:none;stroke:#2f6fb0;stroke-width:2.5}}\n"
      ".dot{{fill:#2f6fb0}}\n"
      "text{{fill:#333}}\n"
      "@media (prefers-color-scheme:dark){{text{{fill:#ddd}}.line{{stroke:#7db4ea}}"
      ".dot{{fill:#7db4ea}}}}\n"
      "</style>\n",
      svg_width, svg_height, plot.y_label, plot.x_label);
  svg += fmt::format("<text x=\"{:.0f}\" y=\"18\">{}</text>\n", 8.0, plot.y_label);
  if (!plot.points.empty()) {
    const std::vector<double> ticks = round_ticks(largest_y(plot));
    svg += grid_svg(plot, ticks) + line_svg(plot, ticks.back());
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (left + right) / 2, bottom + 42, plot.x_label);
  return svg + "</svg>\n";
}

}  // namespace kolam::app

// Sections as one page: no network, no script.
#include <fmt/format.h>

#include <algorithm>

#include "../terminal/text.hpp"
#include "document.hpp"

namespace kolam::app {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string html_of(const Table& table) {
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool is_number = std::ranges::all_of(
        table.rows, [c](const auto& row) { return looks_like_a_number(row[c]); });
    html += fmt::format("<th scope=\"col\"{}>{}</th>", is_number ? " class=\"number\"" : "",
                        escaped(table.columns[c]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const std::string& cell : row) {
      html += fmt::format("<td{}>{}</td>", looks_like_a_number(cell) ? " class=\"number\"" : "",
                          escaped(cell));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string html_of(const List& list) {
  std::string html = "<div class=\"scroll\"><table class=\"list\">\n<tbody>\n";
  for (const auto& [name, value] : list.entries) {
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name),
                        escaped(value));
  }
  return html + "</tbody></table></div>\n";
}

std::string html_of(const Bars& bars) {
  double largest = 0;
  for (const Bar& bar : bars.entries) largest = std::max(largest, bar.value);
  std::string html = "<div class=\"bars\">\n";
  for (const Bar& bar : bars.entries) {
    html += fmt::format(
        "<div class=\"name\">{}</div><div class=\"track\"><div class=\"bar\" "
        "style=\"width:{:.1f}%\"></div></div><div class=\"value\">{}</div>\n",
        escaped(bar.name), largest > 0 ? 100 * bar.value / largest : 0, escaped(bar.label));
  }
  return html + "</div>\n";
}

std::string html_of(const Plot& plot) {
  return "<figure>\n" + to_svg(plot) + "</figure>\n";
}

std::string html_of(const Drawing& drawing) {
  return fmt::format("<pre>{}</pre>\n", escaped(drawing.text));
}

std::string html_of(const Paragraph& paragraph) {
  return fmt::format("<p>{}</p>\n", escaped(paragraph.text));
}

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fff; --faint: #667; --rule: #ccd;
  --accent: #2f6fb0; --shade: #f3f5f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --paper: #16181c; --faint: #a4a9b3;
  --rule: #3a3f48; --accent: #7db4ea; --shade: #20242a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0.5rem 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.6rem; border-bottom: 1px solid var(--rule);
  padding-bottom: 0.25rem; }
p { max-width: 46rem; }
.scroll { overflow-x: auto; margin: 0.6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid var(--rule); color: var(--faint); font-weight: 600; }
tbody tr + tr td, tbody tr + tr th { border-top: 1px solid var(--shade); }
.list th { color: var(--faint); font-weight: 400; white-space: nowrap; }
.number { text-align: right; }
td.number { white-space: nowrap; }
.bars { display: grid; grid-template-columns: max-content minmax(4rem, 1fr) max-content;
  gap: 0.45rem 0.8rem; align-items: center; max-width: 40rem; margin: 0.8rem 0; }
.track { background: var(--shade); border-radius: 3px; }
.bar { background: var(--accent); height: 1.1rem; border-radius: 3px; }
.value { font-variant-numeric: tabular-nums; }
figure { margin: 0.8rem 0; max-width: 40rem; }
figure svg { width: 100%; height: auto; display: block; }
pre { background: var(--shade); padding: 0.8rem; overflow-x: auto; border-radius: 4px;
  font: 0.82rem/1.3 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
@media (max-width: 30rem) { body { padding: 0.75rem; } table { font-size: 0.75rem; }
  th, td { padding-right: 0.4rem; } .list th { white-space: normal; } pre { font-size: 0.68rem; }
  .bars { grid-template-columns: max-content 1fr; } .bars .value { grid-column: 2; } }
@media print { body { max-width: none; padding: 0; } section { break-inside: avoid; }
  .scroll, pre { overflow: visible; } pre { white-space: pre-wrap; }
  .bar { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
)";

}  // namespace

std::string to_html(const std::string& title, const std::vector<Section>& sections) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(title), style);
  for (const Section& section : sections) {
    html += fmt::format("<section>\n<h2>{}</h2>\n", escaped(section.title));
    for (const Element& element : section.elements) {
      html += std::visit([](const auto& value) { return html_of(value); }, element);
    }
    html += "</section>\n";
  }
  return html + "</body>\n</html>\n";
}

nlohmann::ordered_json tables_json(const std::vector<Section>& sections) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto add = [&](const Section& section, const std::vector<std::string>& columns,
                       const auto& rows) {
    all.push_back({{"section", section.title}, {"columns", columns}, {"rows", rows}});
  };
  for (const Section& section : sections) {
    for (const Element& element : section.elements) {
      if (const auto* table = std::get_if<Table>(&element)) {
        add(section, table->columns, table->rows);
      } else if (const auto* list = std::get_if<List>(&element)) {
        std::vector<std::vector<std::string>> rows;
        for (const auto& [name, value] : list->entries) rows.push_back({name, value});
        add(section, {}, rows);
      }
    }
  }
  return all;
}

}  // namespace kolam::app

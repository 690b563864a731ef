#include "cli/chart_page.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/page_texts.h"

namespace tally::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// JSON inside a script element: nothing in it can end the element or begin a comment.
std::string inert(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  return replace_all(text, "<", "\\u003c");
}

/// A library's source inside a script element.
std::string inline_script(std::string_view source) {
  return "<script>" + replace_all(std::string(source), "</script", "<\\/script") + "</script>\n";
}

Json json(const ChartSeries& series) {
  Json points = Json::array();
  for (const ChartPoint& point : series.points) {
    bool is_finite = std::isfinite(point.x);
    for (const double y : point.y) is_finite = is_finite && std::isfinite(y);
    if (is_finite) points.push_back({{"x", point.x}, {"y", point.y}, {"text", point.text}});
  }
  return {{"name", series.name}, {"points", points}};
}

Json json(const Chart& chart) {
  Json series = Json::array(), marks = Json::array();
  for (const ChartSeries& one : chart.series) series.push_back(json(one));
  for (const ChartMark& mark : chart.marks) marks.push_back({{"x", mark.x}, {"text", mark.text}});
  return {{"title", chart.title},   {"is_curves", chart.kind == Chart::Kind::curves},
          {"x_name", chart.x_name}, {"is_bytes", chart.x_axis == Chart::Axis::bytes},
          {"views", chart.views},   {"series", series},
          {"marks", marks}};
}

std::string row(const char* cell, const std::vector<std::string>& texts) {
  std::string line = "<tr>";
  for (const std::string& text : texts) line += fmt::format("<{0}>{1}</{0}>", cell, escaped(text));
  return line + "</tr>\n";
}

std::string table(const PageTable& table) {
  std::string text = "<section><h2>" + escaped(table.title) +
                     "</h2>\n<div class=\"wide\"><table><thead>" + row("th", table.columns) +
                     "</thead><tbody>\n";
  for (const auto& cells : table.rows) text += row("td", cells);
  return text + "</tbody></table></div></section>\n";
}

// The policy forbids the page to load anything, whatever is written into it.
constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>{}</style>
</head>
<body>
<header>
<div><h1>{}</h1><p class="command"><code>{}</code></p></div>
<button id="theme" type="button" title="light or dark">&#9680;</button>
</header>
<main id="charts"></main>
)";

}  // namespace

std::string escaped(const std::string& text) {
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
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string html(const Page& page) {
  Json charts = Json::array();
  for (const Chart& chart : page.charts) charts.push_back(json(chart));
  std::string text =
      fmt::format(fmt::runtime(kHead), escaped(page.title), page_texts()[kStyle].text,
                  escaped(page.title), escaped(page.command));
  for (const PageTable& one : page.tables) text += table(one);
  text += "<script type=\"application/json\" id=\"data\">" + inert(charts) + "</script>\n";
  return text + inline_script(page_texts()[kChartLibrary].text) +
         inline_script(page_texts()[kScript].text) + "</body>\n</html>\n";
}

}  // namespace tally::cli

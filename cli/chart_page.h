#pragma once

// One self-contained page with interactive charts and tables. It loads nothing from anywhere.

#include <string>
#include <vector>

namespace tally::cli {

/// A point of a chart: one y for each view of it. `text` is shown beside it.
struct ChartPoint {
  double x = 0;
  std::vector<double> y;
  std::string text;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;
};

/// A vertical line, such as a crossover.
struct ChartMark {
  double x = 0;
  std::string text;
};

/// Both axes are logarithmic.
struct Chart {
  enum class Kind : std::uint8_t { curves, points };  // points: with the line y = x
  enum class Axis : std::uint8_t { bytes, number };
  std::string title;
  Kind kind = Kind::curves;
  Axis x_axis = Axis::bytes;
  std::string x_name;
  std::vector<std::string> views;  // names of the y axes, of which one is shown at a time
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks;
};

struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Page {
  std::string title;
  std::string command;  // that made it
  std::vector<Chart> charts;
  std::vector<PageTable> tables;
};

/// The page as HTML. Every text may hold anything. What is not finite is left out of charts.
///
/// Once drawn, the root element says so to scripts: data-series is the number of series drawn,
/// data-ink the number of coloured pixels (grid and words are grey), data-errors what went wrong.
std::string html(const Page& page);

/// Text inside an element or an attribute: & < > " ' are escaped.
std::string escaped(const std::string& text);

}  // namespace tally::cli

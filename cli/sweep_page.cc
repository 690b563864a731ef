#include "cli/sweep_page.h"

#include <fmt/format.h>

#include "cli/sim_rows.h"

namespace tally::cli {
namespace {

using sim::Step;
using sim::Sweep;

/// The words for a choice in a legend: what is alike for all is left out, but for library and
/// algorithm.
std::string short_text(const Sweep& sweep, const sim::Subject& subject) {
  bool wires = false, launches = false, libraries = false;
  for (const sim::Curve& curve : sweep.curves) {
    libraries |= curve.subject.library != subject.library;
    wires |= curve.subject.wire.name != subject.wire.name;
    launches |= curve.subject.launch != subject.launch;
  }
  std::string text = (libraries ? subject.library + " " : "") + subject.algorithm;
  if (wires) text += ", " + subject.wire.name;
  if (launches) text += ", " + std::string(sim::name(subject.launch));
  return text;
}

Chart chart_of(const Sweep& sweep) {
  Chart chart;
  chart.title = task_text(sweep.curves[0].subject);
  chart.x_name = "size";
  chart.views = {"time (µs)", "algbw (1e9 bytes/s)", "busbw (1e9 bytes/s)"};
  for (const auto& [subject, at, points, steps] : sweep.curves) {
    ChartSeries series{short_text(sweep, subject), {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::int64_t bytes = sweep.sizes[i];
      series.points.push_back({static_cast<double>(bytes),
                               {points[i].time.micros(), algorithm_bandwidth(points[i], bytes),
                                bus_bandwidth(subject, points[i], bytes)},
                               points[i].path + ", " + points[i].bound_by});
    }
    chart.series.push_back(std::move(series));
  }
  for (std::size_t i = 0; i < sweep.crossovers.size(); ++i) {
    const auto bytes = static_cast<double>(sweep.crossovers[i].bytes);
    chart.marks.push_back({bytes, std::to_string(i + 1)});
  }
  return chart;
}

std::string micros(const sim::Prediction& prediction) {
  return fmt::format("{:.2f}", prediction.time.micros());
}

PageTable best_table(const Sweep& sweep) {
  PageTable table{
      "Best: " + task_text(sweep.curves[0].subject),
      {"", "from (bytes)", "to (bytes)", "choice", "time there (µs)", "where it takes over"},
      {}};
  int number = 0;  // as the chart's marks have
  for (const auto& [first, last, curve] : sweep.best) {
    const Step* step = sim::find_crossover(sweep, first);
    table.rows.push_back({step ? std::to_string(++number) : "", std::to_string(first),
                          std::to_string(last), short_text(sweep, sweep.curves[curve].subject),
                          step ? micros(step->after) : "", step ? step->why() : ""});
  }
  return table;
}

PageTable steps_table(const Sweep& sweep) {
  PageTable table{
      "Thresholds: " + task_text(sweep.curves[0].subject),
      {"choice", "threshold", "at (bytes)", "before (µs)", "after (µs)", "ratio", "verdict", "why"},
      {}};
  for (const sim::Curve& curve : sweep.curves) {
    for (const Step& step : curve.steps) {
      table.rows.push_back({short_text(sweep, curve.subject), step.threshold,
                            std::to_string(step.bytes), micros(step.before), micros(step.after),
                            fmt::format("{:.3f}", step.ratio()), std::string(name(step.verdict())),
                            step.why()});
    }
  }
  return table;
}

}  // namespace

Page sweep_page(const std::vector<Sweep>& sweeps, const std::string& command) {
  Page page{"Predicted time against size", command, {}, {}};
  for (const Sweep& sweep : sweeps) {
    page.charts.push_back(chart_of(sweep));
    page.tables.push_back(best_table(sweep));
    PageTable steps = steps_table(sweep);
    if (!steps.rows.empty()) page.tables.push_back(std::move(steps));
  }
  return page;
}

}  // namespace tally::cli

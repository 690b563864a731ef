#include "cli/sweep_page.h"

#include <fmt/format.h>

#include "cli/sim_rows.h"

namespace tally::cli {
namespace {

using sim::Step;
using sim::Sweep;

/// The words for a choice in a legend: what is alike for all is left out, but for library and
/// algorithm.
std::string short_text(const Sweep& sweep, const sim::Scenario& scenario) {
  bool wires = false, launches = false, libraries = false;
  for (const sim::Curve& curve : sweep.curves) {
    libraries |= curve.scenario.library != scenario.library;
    wires |= curve.scenario.wire.name != scenario.wire.name;
    launches |= curve.scenario.launch != scenario.launch;
  }
  std::string text = (libraries ? scenario.library + " " : "") + scenario.algorithm;
  if (wires) text += ", " + scenario.wire.name;
  if (launches) text += ", " + std::string(sim::name(scenario.launch));
  return text;
}

Chart chart_of(const Sweep& sweep) {
  Chart chart;
  chart.title = task_text(sweep.curves[0].scenario);
  chart.x_name = "size";
  chart.views = {"time (µs)", "algbw (1e9 bytes/s)", "busbw (1e9 bytes/s)"};
  for (const auto& [scenario, at, points, steps] : sweep.curves) {
    ChartSeries series{short_text(sweep, scenario), {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::int64_t bytes = sweep.sizes[i];
      series.points.push_back({static_cast<double>(bytes),
                               {points[i].time.micros(), algorithm_bandwidth(points[i], bytes),
                                bus_bandwidth(scenario, points[i], bytes)},
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
      "Best: " + task_text(sweep.curves[0].scenario),
      {"", "from (bytes)", "to (bytes)", "choice", "time there (µs)", "where it takes over"},
      {}};
  int number = 0;  // as the chart's marks have
  for (const auto& [first, last, curve] : sweep.best) {
    const Step* step = sim::find_crossover(sweep, first);
    table.rows.push_back({step ? std::to_string(++number) : "", std::to_string(first),
                          std::to_string(last), short_text(sweep, sweep.curves[curve].scenario),
                          step ? micros(step->after) : "", step ? step->why() : ""});
  }
  return table;
}

PageTable steps_table(const Sweep& sweep) {
  PageTable table{
      "Thresholds: " + task_text(sweep.curves[0].scenario),
      {"choice", "threshold", "at (bytes)", "before (µs)", "after (µs)", "ratio", "verdict", "why"},
      {}};
  for (const sim::Curve& curve : sweep.curves) {
    for (const Step& step : curve.steps) {
      table.rows.push_back({short_text(sweep, curve.scenario), step.threshold,
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

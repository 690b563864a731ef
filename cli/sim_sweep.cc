#include "cli/sim_sweep.h"

#include <fmt/format.h>

#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/sim_rows.h"
#include "cli/sweep_page.h"

namespace tally::cli {
namespace {

using sim::Step;
using tally::sim::Curve;
using tally::sim::Sweep;

/// More curves than this do not fit beside each other; the best alone is printed then.
constexpr std::size_t kColumns = 8;

std::size_t best_at(const Sweep& sweep, std::int64_t bytes) {
  for (const sim::BestRange& range : sweep.best) {
    if (bytes <= range.last_bytes) return range.curve;
  }
  return sweep.best.back().curve;
}

void print_points(const Sweep& sweep) {
  const bool has_columns = sweep.curves.size() <= kColumns;
  for (std::size_t c = 0; c < sweep.curves.size(); ++c) {
    fmt::print("# [{}] {}\n", c + 1, choice_text(sweep.curves[c].scenario));
  }
  fmt::print("# {:>12}", "size(B)");
  for (std::size_t c = 0; has_columns && c < sweep.curves.size(); ++c) {
    fmt::print(" {:>11}", fmt::format("[{}](us)", c + 1));
  }
  fmt::print(" {:>5} {:>11} {:>8} {:>8}  {:<20} {}\n", "best", "time(us)", "algbw", "busbw", "path",
             "bound by");
  for (std::size_t i = 0; i < sweep.sizes.size(); ++i) {
    const std::size_t best = best_at(sweep, sweep.sizes[i]);
    fmt::print("{:>14}", sweep.sizes[i]);
    for (std::size_t c = 0; has_columns && c < sweep.curves.size(); ++c) {
      fmt::print(" {:>11.2f}", sweep.curves[c].points[i].time.micros());
    }
    const auto& [scenario, at, points, steps] = sweep.curves[best];
    fmt::print(" {:>5} {:>11.2f} {:>8.2f} {:>8.2f}  {:<20} {}\n", fmt::format("[{}]", best + 1),
               points[i].time.micros(), algorithm_bandwidth(points[i], sweep.sizes[i]),
               bus_bandwidth(scenario, points[i], sweep.sizes[i]), points[i].path,
               points[i].bound_by);
  }
}

void print_findings(const Sweep& sweep) {
  for (const auto& [first, last, curve] : sweep.best) {
    const Step* step = find_crossover(sweep, first);
    if (step != nullptr) fmt::print("# crossover at {}: {}\n", first, step->why());
    fmt::print("# best from {} to {}: {}\n", first, last,
               choice_text(sweep.curves[curve].scenario));
  }
  for (const Curve& curve : sweep.curves) {
    for (const Step& step : curve.steps) {
      const bool is_named = step.why().find(step.threshold) != std::string::npos;
      fmt::print("# {}: at {}: {}{}\n", choice_text(curve.scenario), step.bytes,
                 is_named ? "" : step.threshold + ": ", step.why());
    }
  }
  for (const sim::Refusal& refusal : sweep.refused) {
    fmt::print("# left out: {}: {}: {}\n", choice_text(refusal.scenario), refusal.error.where,
               refusal.error.what);
  }
}

Json step_fields(const char* kind, const sim::Scenario& scenario, const Step& step) {
  Json object = {{"kind", kind}};
  object.update(scenario_fields(scenario));
  object["size_bytes"] = step.bytes;
  object["before_us"] = step.before.time.micros();
  object["after_us"] = step.after.time.micros();
  object["before_path"] = step.before.path;
  object["after_path"] = step.after.path;
  object["threshold"] = step.threshold;
  object["ratio"] = step.ratio();
  object["verdict"] = name(step.verdict());
  object["why"] = step.why();
  return object;
}

Json point_fields(const Sweep& sweep, const Curve& curve, std::size_t i) {
  Json object = {{"kind", "point"}};
  object.update(prediction_fields(curve.scenario, sweep.sizes[i], curve.points[i]));
  object["is_best"] = &curve == &sweep.curves[best_at(sweep, sweep.sizes[i])];
  return object;
}

void write_objects(std::ostream& out, const Sweep& sweep) {
  for (const Curve& curve : sweep.curves) {
    for (std::size_t i = 0; i < sweep.sizes.size(); ++i) {
      write_json(out, point_fields(sweep, curve, i));
    }
    for (const Step& step : curve.steps) write_json(out, step_fields("step", curve.scenario, step));
  }
  for (const auto& [first, last, curve] : sweep.best) {
    Json object = {{"kind", "best"}};
    object.update(scenario_fields(sweep.curves[curve].scenario));
    object["first_bytes"] = first;
    object["last_bytes"] = last;
    write_json(out, object);
    if (const Step* step = find_crossover(sweep, first)) {
      write_json(out, step_fields("crossover", sweep.curves[curve].scenario, *step));
    }
  }
  for (const sim::Refusal& refusal : sweep.refused) {
    Json object = {{"kind", "left_out"}};
    object.update(scenario_fields(refusal.scenario));
    object["why"] = refusal.error.where + ": " + refusal.error.what;
    write_json(out, object);
  }
}

void write_lines(std::ostream& out, const Sweep& sweep, bool has_header) {
  for (const Curve& curve : sweep.curves) {
    for (std::size_t i = 0; i < sweep.sizes.size(); ++i) {
      Json fields = point_fields(sweep, curve, i);
      fields.erase("kind");
      out << (has_header ? "" : csv_header(fields)) << csv_line(fields);
      has_header = true;
    }
  }
}

/// A sweep for each task; an error where nothing is predicted of any choice for one.
model::Result<std::vector<Sweep>> sweep_tasks(const SimOptions& options) {
  std::vector<Sweep> sweeps;
  for (const auto choices : tasks(options.scenarios)) {
    sweeps.push_back(tally::sim::sweep(choices, options.sizes));
    if (sweeps.back().curves.empty()) return sweeps.back().refused.front().error;
  }
  return sweeps;
}

}  // namespace

int sim_sweep(const SimOptions& options) {
  const auto sweeps = sweep_tasks(options);
  if (!sweeps) return complain(sweeps.error());
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json), csv = files.open_or_stdout(options.csv),
             page = files.open_or_stdout(options.html);
  for (const auto* opened : {&json, &csv, &page}) {
    if (!*opened) return complain(opened->error());
  }
  for (const Sweep& sweep : *sweeps) {
    if (*json != nullptr) write_objects(**json, sweep);
    if (*csv != nullptr) write_lines(**csv, sweep, &sweep != &sweeps->front());
    if (!options.table_on_stdout()) continue;
    fmt::print("# {}\n", task_text(sweep.curves[0].scenario));
    print_points(sweep);
    print_findings(sweep);
  }
  if (*page != nullptr) **page << html(sweep_page(*sweeps, options.command));
  std::fflush(stdout);
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

}  // namespace tally::cli

#include "cli/sim_tune.h"

#include <fmt/format.h>

#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/sim_rows.h"
#include "cli/sweep_page.h"
#include "cli/tuning_text.h"

namespace tally::cli {
namespace {

using tally::study::Candidate;
using tally::study::TableRow;
using tally::study::Tuning;

std::string error_text(const Candidate& c) {
  return c.error ? fmt::format("{:.3g}", *c.error) : "not proven";
}
std::string memory_text(const Candidate& c) {
  return c.memory ? std::to_string(*c.memory) : "not known";
}

void print(const Tuning& tuning) {
  fmt::print("# {}: the fastest for each size\n", task_text(tuning.sweep.curves[0].scenario));
  fmt::print("# {:>12} {:>14} {:<44} {:<16} {:>11} {:>11} {:>14}\n", "from(B)", "to(B)", "choice",
             "path", "time(us)", "error", "memory(B)");
  for (const auto& [scenario, first, last, c] : tuning.table) {
    fmt::print("{:>14} {:>14} {:<44} {:<16} {:>11.2f} {:>11} {:>14}\n", first, last,
               choice_text(scenario), c.prediction.path, c.prediction.time.micros(), error_text(c),
               memory_text(c));
  }
  fmt::print("# not beaten in time, error and memory together\n");
  for (const auto& front : tuning.fronts) {
    for (const Candidate& c : front) {
      fmt::print("{:>14} {:>14} {:<44} {:<16} {:>11.2f} {:>11} {:>14}\n", c.bytes, "",
                 choice_text(c.scenario), c.prediction.path, c.prediction.time.micros(),
                 error_text(c), memory_text(c));
    }
  }
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// A launch's geometry is not predicted; a reader of the table takes its own.
Json row_fields(const TableRow& row) {
  Json object = {{"kind", "row"}};
  object.update(scenario_fields(row.scenario));
  object["first_bytes"] = row.first_bytes;
  object["most_bytes"] = row.last_bytes;
  object["path"] = row.at_last.prediction.path;
  object["time_us"] = row.at_last.prediction.time.micros();
  object["error"] = or_null(row.at_last.error);
  object["memory_bytes"] = or_null(row.at_last.memory);
  for (const char* geometry : {"blocks", "threads", "rounds"}) object[geometry] = nullptr;
  return object;
}

Json front_fields(const Candidate& c) {
  Json object = {{"kind", "front"}};
  object.update(prediction_fields(c.scenario, c.bytes, c.prediction));
  object["error"] = or_null(c.error);
  object["memory_bytes"] = or_null(c.memory);
  return object;
}

void write_objects(std::ostream& out, const Tuning& tuning) {
  for (const TableRow& row : tuning.table) write_json(out, row_fields(row));
  for (const auto& front : tuning.fronts) {
    for (const Candidate& c : front) write_json(out, front_fields(c));
  }
}

void write_lines(std::ostream& out, const Tuning& tuning, bool has_header) {
  for (const TableRow& row : tuning.table) {
    Json fields = row_fields(row);
    fields.erase("kind");
    out << (has_header ? "" : csv_header(fields)) << csv_line(fields);
    has_header = true;
  }
}

/// A communicator reads one set of thresholds.
std::optional<model::Error> is_ambiguous(const SimOptions& options) {
  if (options.format == TuneFormat::table) return std::nullopt;
  if (!options.table_on_stdout()) {
    return model::Error{"--format", "goes to standard output, as another output does",
                        "give that one a file"};
  }
  const auto& first = options.scenarios[0];
  for (const auto& other : options.scenarios) {
    if (first.machine == other.machine && first.ranks == other.ranks &&
        first.nodes == other.nodes && first.dtype == other.dtype) {
      continue;
    }
    return model::Error{"--format", "is for one machine, number of ranks and dtype",
                        "one of each of --machine, --nodes, --ranks and --dtype"};
  }
  return std::nullopt;
}

/// A tuning for each task; an error where nothing is predicted of any choice for one.
model::Result<std::vector<Tuning>> tune_tasks(const SimOptions& options) {
  std::vector<Tuning> tunings;
  for (const auto choices : tasks(options.scenarios)) {
    const study::Limits limits{options.max_error, options.max_memory};
    tunings.push_back(tally::study::tune(choices, options.sizes, limits));
    const sim::Sweep& sweep = tunings.back().sweep;
    if (sweep.curves.empty()) return sweep.refused.front().error;
  }
  return tunings;
}

void print_all(const SimOptions& options, const std::vector<Tuning>& tunings) {
  std::vector<TableRow> rows;
  for (const Tuning& tuning : tunings) {
    rows.insert(rows.end(), tuning.table.begin(), tuning.table.end());
  }
  switch (options.format) {
    case TuneFormat::table:
      for (const Tuning& tuning : tunings) print(tuning);
      break;
    case TuneFormat::env:
      fmt::print("{}", rcclx_environment(rows));
      break;
    case TuneFormat::nccl_tuner:
      fmt::print("{}", nccl_tuner_csv(rows));
  }
}

}  // namespace

int sim_tune(const SimOptions& options) {
  if (const auto error = is_ambiguous(options)) return complain(*error);
  const auto tunings = tune_tasks(options);
  if (!tunings) return complain(tunings.error());
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json), csv = files.open_or_stdout(options.csv),
             page = files.open_or_stdout(options.html);
  for (const auto* opened : {&json, &csv, &page}) {
    if (!*opened) return complain(opened->error());
  }
  bool is_within = true;
  std::vector<sim::Sweep> sweeps;
  for (const Tuning& tuning : *tunings) {
    if (*json != nullptr) write_objects(**json, tuning);
    if (*csv != nullptr) write_lines(**csv, tuning, !sweeps.empty());
    sweeps.push_back(tuning.sweep);
    is_within = is_within && !tuning.table.empty();
  }
  if (options.table_on_stdout()) print_all(options, *tunings);
  if (*page != nullptr) **page << html(sweep_page(sweeps, options.command));
  std::fflush(stdout);
  if (const auto error = files.finish()) return complain(*error);
  if (is_within) return kHeld;
  fmt::print(stderr, "tally: nothing is within the limits\n");
  return kFailed;
}

}  // namespace tally::cli

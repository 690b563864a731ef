#include "cli/sim_validate.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/chart_page.h"
#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/sim_rows.h"
#include "sim/validate.h"

namespace tally::cli {
namespace {

using sim::Comparison;
using sim::RelativeErrors;
using sim::Validation;

/// Where the published tables lie beside a checkout of Tally.
constexpr const char* kPublished = "../shared/data/perf";

Json fields(const RelativeErrors& errors) {
  return {{"file", errors.file},
          {"rows", errors.rows},
          {"median_rel_err", errors.median_rel_err},
          {"p90_rel_err", errors.p90_rel_err},
          {"bias", errors.bias}};
}

void print(const Validation& validation) {
  fmt::print(
      "# predicted / measured - 1: median and 90th percentile of its magnitude, and its median\n");
  fmt::print("# {:>4} {:>8} {:>8} {:>8}  {}\n", "rows", "median", "p90", "bias", "file");
  const auto line = [](const RelativeErrors& e) {
    fmt::print("{:>6} {:>7.1f}% {:>7.1f}% {:>+7.1f}%  {}\n", e.rows, 100 * e.median_rel_err,
               100 * e.p90_rel_err, 100 * e.bias, e.file);
  };
  for (const RelativeErrors& errors : validation.files) line(errors);
  line(validation.all);
}

std::vector<std::string> cells(const RelativeErrors& e) {
  return {e.file, fmt::format("{}", e.rows), fmt::format("{:.1f} %", 100 * e.median_rel_err),
          fmt::format("{:.1f} %", 100 * e.p90_rel_err), fmt::format("{:+.1f} %", 100 * e.bias)};
}

std::string page(const Validation& validation, const std::string& command) {
  Chart chart;
  chart.title = "Predicted against measured time";
  chart.kind = Chart::Kind::points;
  chart.x_axis = Chart::Axis::number;
  chart.x_name = "measured (us)";
  chart.views = {"predicted (us)"};
  for (const Comparison& point : validation.points) {
    if (chart.series.empty() || chart.series.back().name != point.file) {
      chart.series.push_back({point.file, {}});
    }
    chart.series.back().points.push_back(
        {point.measured_us,
         {point.predicted_us},
         fmt::format("{} bytes, {}: {:.2f} us measured, {:.2f} us predicted ({:+.1f} %)",
                     point.bytes, point.path, point.measured_us, point.predicted_us,
                     100 * (point.predicted_us / point.measured_us - 1))});
  }
  PageTable table{"Error of each table", {"file", "rows", "median", "p90", "bias"}, {}};
  for (const RelativeErrors& errors : validation.files) table.rows.push_back(cells(errors));
  table.rows.push_back(cells(validation.all));
  return html({"Predictions beside measurements", command, {chart}, {table}});
}

}  // namespace

model::Result<std::vector<sim::MeasuredTable>> read_tables(
    const std::vector<std::string>& folders) {
  std::vector<sim::MeasuredTable> all;
  for (const std::string& folder :
       folders.empty() ? std::vector<std::string>{kPublished} : folders) {
    auto tables = sim::read_measured(folder);
    if (!tables) return tables.error();
    all.insert(all.end(), tables->begin(), tables->end());
  }
  return all;
}

int sim_validate(const SimOptions& options) {
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json), csv = files.open_or_stdout(options.csv),
             chart = files.open_or_stdout(options.html);
  for (const auto* file : {&json, &csv, &chart}) {
    if (!*file) return complain(file->error());
  }
  const auto tables = read_tables(options.folders);
  if (!tables) return complain(tables.error());
  const auto validation = sim::validate(*tables);
  if (!validation) return complain(validation.error());
  std::vector<RelativeErrors> lines = validation->files;
  lines.push_back(validation->all);
  if (*csv != nullptr) **csv << csv_header(fields(validation->all));
  for (const RelativeErrors& errors : lines) {
    if (*json != nullptr) write_json(**json, fields(errors));
    if (*csv != nullptr) **csv << csv_line(fields(errors));
  }
  if (*chart != nullptr) **chart << page(*validation, options.command);
  if (options.table_on_stdout()) print(*validation);
  std::fflush(stdout);
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

}  // namespace tally::cli

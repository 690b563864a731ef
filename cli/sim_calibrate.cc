#include <fmt/format.h>

#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/sim_validate.h"
#include "sim/calibrate.h"

namespace tally::cli {
namespace {

using sim::RelativeErrors;

void print_parameters(const sim::Calibration& calibration) {
  fmt::print("# {:>10} {:>23}  {}\n", "value", "95 % confidence", "parameter");
  const auto rows = sim::parameter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_fitted()) continue;
    const sim::Parameter& p = calibration.parameters[i];
    fmt::print("{:>12.4g} [{:>10.4g}, {:>9.4g}]  {}{}\n", p.value, p.low, p.high, rows[i].name,
               calibration.is_determined[i] ? "" : "  (these tables do not determine it)");
  }
}

void print_left_out(const std::vector<RelativeErrors>& errors) {
  fmt::print("# each table as predicted by a fit without it\n");
  fmt::print("# {:>4} {:>8} {:>8} {:>8}  {}\n", "rows", "median", "p90", "bias", "file");
  std::vector<double> medians;
  for (const RelativeErrors& e : errors) {
    fmt::print("{:>6} {:>7.1f}% {:>7.1f}% {:>+7.1f}%  {}\n", e.rows, 100 * e.median_rel_err,
               100 * e.p90_rel_err, 100 * e.bias, e.file);
    medians.push_back(e.median_rel_err);
  }
  const RelativeErrors all = sim::relative_errors("", medians);
  fmt::print("# of the tables' medians: median {:.1f}%, 90th percentile {:.1f}%\n",
             100 * all.median_rel_err, 100 * all.p90_rel_err);
}

}  // namespace

int sim_calibrate(const SimOptions& options) {
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json);
  if (!json) return complain(json.error());
  const auto tables = read_tables(options.folders);
  if (!tables) return complain(tables.error());
  const auto calibration = sim::calibrate(*tables);
  if (!calibration) return complain(calibration.error());
  if (*json != nullptr) **json << calibration->parameters.to_json(options.command);
  if (options.table_on_stdout()) {
    print_parameters(*calibration);
    const auto left_out = sim::leave_one_out(*tables, calibration->parameters);
    if (!left_out) return complain(left_out.error());
    print_left_out(*left_out);
  }
  std::fflush(stdout);
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

}  // namespace tally::cli

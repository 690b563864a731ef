#pragma once

// `tally sim --validate` and `tally sim --calibrate`: predictions beside measured tables.

#include "cli/sim_options.h"
#include "sim/measured_table.h"

namespace tally::cli {

/// One row, object or line for each table, and a last one over all rows.
int sim_validate(const SimOptions& options);

/// The parameters with their intervals, and how tables that were left out of a fit are predicted.
/// --json writes what sim/fitted_parameters.json is.
int sim_calibrate(const SimOptions& options);

/// The tables of all folders and files; of ../shared/data/perf where none is named.
model::Result<std::vector<sim::MeasuredTable>> read_tables(const std::vector<std::string>& folders);

}  // namespace tally::cli

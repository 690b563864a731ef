#pragma once

// Sweeps as a page: a chart for each task, and tables of what is best and where curves jump.

#include "cli/chart_page.h"
#include "sim/sweep.h"

namespace tally::cli {

Page sweep_page(const std::vector<sim::Sweep>& sweeps, const std::string& command);

}  // namespace tally::cli

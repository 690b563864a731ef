#pragma once

#include "cli/sim_options.h"
#include "sim/sweep.h"

namespace tally::cli {

/// `tally sim --sweep`: time against size of every choice, the best of them, and where curves jump.
/// Returns the exit status.
int sim_sweep(const SimOptions& options);

/// A sweep for each task of the options; an error where nothing is predicted of any choice for one.
model::Result<std::vector<sim::Sweep>> sweep_tasks(const SimOptions& options);

}  // namespace tally::cli

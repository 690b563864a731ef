#pragma once

#include "cli/sim_options.h"

namespace tally::cli {

/// `tally sim --tune`: the fastest choice for each size within the limits, and what is not beaten
/// in time, error and memory. Returns the exit status; 1 where nothing is within the limits.
int sim_tune(const SimOptions& options);

}  // namespace tally::cli

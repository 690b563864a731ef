#pragma once

#include "cli/sim_options.h"

namespace tally::cli {

/// `tally sim --sweep`: time against size of every choice, the best of them, and where curves jump.
/// Returns the exit status.
int sim_sweep(const SimOptions& options);

}  // namespace tally::cli

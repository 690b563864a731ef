#pragma once

#include "cli/sim_options.h"

namespace tally::cli {

/// `tally sim` without a mode: each prediction, explained. Returns the exit status.
int sim_predict(const SimOptions& options);

}  // namespace tally::cli

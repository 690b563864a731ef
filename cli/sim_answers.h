#pragma once

#include "cli/sim_options.h"

namespace tally::cli {

/// `tally sim --model`: each question of the lists multiplied out, --batch and --context varying
/// fastest. Returns the exit status.
int sim_inference(const SimOptions& options);

/// `tally sim --claims`.
int sim_claims(const SimOptions& options);

}  // namespace tally::cli

#pragma once

// `tally verify --time`.

#include "cli/verify_options.h"

namespace tally::cli {

/// Times what options.timed names, and prints a row for each call. JSON lines hold all that was
/// timed, CSV the table of what was fastest at each size.
int verify_time(const VerifyOptions& options);

}  // namespace tally::cli

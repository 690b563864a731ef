#pragma once

#include "model/result.h"

namespace tally::cli {

/// Says on standard error where, what and the hint; returns the exit status for bad input.
int complain(const model::Error& error);

}  // namespace tally::cli

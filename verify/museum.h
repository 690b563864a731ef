#pragma once

// All that `tally faults` shows, in its order: healthy kernels, the faults that can be planted, the
// litmus kernels, and the generated mutants.

#include "verify/exhibit.h"

namespace tally::verify {

std::vector<Exhibit> museum();

}  // namespace tally::verify

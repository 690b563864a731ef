#pragma once

// For every fault that can be planted, a case that catches it in each collective that it is in.

#include <span>
#include <string_view>

#include "verify/judge.h"

namespace tally::verify {

/// The case, as replayed, fails with the fault in it and passes without.
struct PlantedCase {
  std::string_view fault;
  std::string_view case_text;  // with fault=FAULT
  Detector caught_by;
  std::string_view how;  // a part of the reason that is given
};
std::span<const PlantedCase> planted_cases();

}  // namespace tally::verify

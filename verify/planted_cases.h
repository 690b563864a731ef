#pragma once

// For every fault that can be planted, a case that catches it.

#include <span>
#include <string_view>

namespace tally::verify {

/// The case, as replayed, fails with the fault in it and passes without; `how` is what sees it.
struct PlantedCase {
  std::string_view fault;
  std::string_view case_text;  // with fault=FAULT
  std::string_view how;
};
std::span<const PlantedCase> planted_cases();

}  // namespace tally::verify

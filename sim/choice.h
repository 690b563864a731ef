#pragma once

// Which of its paths a library takes for a call: the rules that libraries publish, and where they
// publish none, the fastest.

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/scenario.h"
#include "sim/traffic.h"

namespace tally::sim {

/// The names of the paths among which the library takes the fastest; mostly one. Empty where it
/// has none for the call, as for a forced algorithm that it does not know.
std::vector<std::string_view> choices(const Scenario& scenario, std::string_view arch,
                                      const Ports& ports, std::int64_t bytes);

}  // namespace tally::sim

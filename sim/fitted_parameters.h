#pragma once

#include <string_view>

namespace tally::sim {

/// The text of sim/fitted_parameters.json, which `tally sim --calibrate` wrote.
extern const std::string_view kFittedParametersJson;

}  // namespace tally::sim

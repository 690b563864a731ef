#pragma once

#include "model/embedded_text.h"

namespace tally::sim {

/// sim/fitted_parameters.json alone, which `tally sim --calibrate` wrote.
std::span<const model::EmbeddedText> fitted_texts();

}  // namespace tally::sim

#pragma once

#include "model/embedded_text.h"

namespace tally::cli {

/// What a page of charts is made of. Chart.js (MIT License) is the distribution's, with its licence
/// comment.
std::span<const model::EmbeddedText> page_texts();

// Their places.
inline constexpr std::size_t kScript = 0, kStyle = 1, kChartLibrary = 2;

}  // namespace tally::cli

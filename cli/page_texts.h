#pragma once

// The texts that a page of charts is made of, built into the program (cmake/EmbedPageTexts.cmake).

#include <string_view>

namespace tally::cli {

extern const std::string_view kPageScript, kPageStyle;
/// Chart.js, MIT License, as the distribution packages it, with its licence comment.
extern const std::string_view kChartLibrary;

}  // namespace tally::cli

#pragma once

#include <span>
#include <string_view>

namespace tally::model {

/// A file that is built into the program (tally_embed in cmake/TallyTargets.cmake).
struct EmbeddedText {
  std::string_view name, text;  // the name without folder and extension
};

}  // namespace tally::model

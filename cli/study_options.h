#pragma once

// The command line of `tally study`, as data.

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "model/result.h"
#include "study/study_plan.h"

namespace tally::cli {

struct StudyOptions {
  std::vector<study::Cell> cells;
  std::uint64_t seed = 1;
  // Files, "-" for standard output; empty for none. At most one is "-".
  std::string json, csv;
  /// Set when --help was asked for: the text to print, and nothing else to do.
  std::optional<std::string> help;

  bool table_on_stdout() const { return json != "-" && csv != "-"; }
};

/// Parses arguments and opens the inputs that they name. Writes nothing.
model::Result<StudyOptions> parse_study(const Arguments& arguments);

}  // namespace tally::cli

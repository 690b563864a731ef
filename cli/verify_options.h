#pragma once

// The command line of `tally verify`, as data.

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "model/result.h"
#include "verify/plan.h"

namespace tally::cli {

struct VerifyOptions {
  std::vector<verify::Case> cases;
  std::string subject = "emulator";
  std::vector<int> devices;           // GPUs that the subject may use; none named: all
  std::optional<verify::Plan> timed;  // what is timed, instead of running cases
  bool conversions = false;           // compare the GPUs' conversions, instead of running cases
  // Files, "-" for standard output; empty for none. At most one is "-".
  std::string json, csv, junit;
  /// Set when --help was asked for: the text to print, and nothing else to do.
  std::optional<std::string> help;

  bool table_on_stdout() const { return json != "-" && csv != "-" && junit != "-"; }
};

/// Parses arguments and opens the inputs that they name. Writes nothing.
model::Result<VerifyOptions> parse_verify(const Arguments& arguments);

}  // namespace tally::cli

#pragma once

// The command line of `tally sim`, as data.

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "model/result.h"
#include "sim/predict.h"

namespace tally::cli {

enum class SimMode : std::uint8_t { predict, sweep, tune, validate, calibrate, inference, claims };

/// How --tune writes the table: for people, for RCCLX, for NCCL's example tuner plugin.
enum class TuneFormat : std::uint8_t { table, env, nccl_tuner };

/// What is asked of a language model; 0 and "" where nothing was typed.
struct InferenceOptions {
  std::string model, phase;
  std::vector<int> tensor_parallel, batch, context;
};

struct SimOptions {
  SimMode mode = SimMode::predict;
  /// The lists multiplied out, the later flags of --collective, --machine, --nodes, --ranks,
  /// --dtype, --library, --version, --algorithm, --wire, --launch varying faster. Not of
  /// --validate, --calibrate and --claims.
  std::vector<sim::Scenario> scenarios;
  std::vector<std::int64_t> sizes;         // bytes, ascending as typed
  std::vector<std::string> folders;        // of --validate and --calibrate; may be empty
  std::optional<double> max_error;         // of --tune: relative, of the sum of magnitudes
  std::optional<std::int64_t> max_memory;  // of --tune: bytes on each rank
  TuneFormat format = TuneFormat::table;
  InferenceOptions inference;
  // Files, "-" for standard output; empty for none. At most one is "-".
  std::string json, csv, html;
  std::string command;  // as it was typed
  /// Set when --help was asked for: the text to print, and nothing else to do.
  std::optional<std::string> help;

  bool table_on_stdout() const { return json != "-" && csv != "-" && html != "-"; }
};

/// Parses arguments. Reads and writes nothing.
model::Result<SimOptions> parse_sim(const Arguments& arguments);

}  // namespace tally::cli

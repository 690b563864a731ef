#include "cli/sim_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>

#include "cli/option_values.h"
#include "cli/sim_scenarios.h"
#include "model/suggestion.h"

namespace tally::cli {
namespace {

using model::Error;
using model::Result;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;

constexpr const char* kModes = R"(
Modes, at most one:
  (none)       each prediction, explained
  --sweep      time against size; which choice is best where, and whether curves are continuous
  --tune       the selection table of a machine, and what is not beaten in time, error and memory
  --validate   predicted against measured times, file by file
  --calibrate  the parameters that fit measured times best, each with its confidence interval
  --model      the time to a language model's next or first token
  --claims     published claims beside what is computed

Sizes are bytes of the larger of a rank's input and output (K, M, G: binary) and are rounded down
to whole elements, of every rank's block where there are blocks. Times are in microseconds,
bandwidths in 1e9 bytes/s. docs/sim.md says what is predicted how, and what each JSON field means.
)";

/// What was typed, before it is understood.
struct Typed {
  TypedScenarios scenarios;
  std::string smallest, largest, factor, bytes, max_error, max_memory, format, phase;
  std::string tensor_parallel, batch, context;
  bool sweep = false, tune = false, claims = false;
};

void declare(CLI::App& app, Typed& typed, SimOptions& options) {
  declare_scenarios(app, typed.scenarios);
  app.add_option("-b", typed.smallest, "smallest size in bytes (1K)");
  app.add_option("-e", typed.largest, "largest size in bytes (1G)");
  app.add_option("-f", typed.factor, "factor between sizes (2)");
  app.add_option("--bytes", typed.bytes, "list of sizes instead; default without a mode: 1M");
  app.add_flag("--sweep", typed.sweep, "mode");
  app.add_flag("--tune", typed.tune, "mode");
  app.add_option("--max-error", typed.max_error,
                 "--tune: largest proven error, of the sum of magnitudes, as in 0.01");
  app.add_option("--max-memory", typed.max_memory, "--tune: most bytes of buffers on a rank");
  app.add_option("--format", typed.format, "--tune: table, env (RCCLX), nccl_tuner");
  app.add_option("--validate", options.folders, "mode: folders with a manifest.csv, or its files")
      ->expected(0, -1);
  app.add_option("--calibrate", options.folders, "mode: the same")->expected(0, -1);
  app.add_option("--model", options.inference.model,
                 "mode: llama3-8b, llama3-70b, llama3-405b, ...");
  app.add_option("--tp", typed.tensor_parallel, "--model: list of tensor parallel ranks");
  app.add_option("--phase", options.inference.phase, "--model: decode or prefill");
  app.add_option("--batch", typed.batch, "--model: list of sequences at once");
  app.add_option("--context", typed.context, "--model: list of tokens of each sequence");
  app.add_flag("--claims", typed.claims, "mode");
  app.add_option("--json", options.json, "JSON to a file, - for standard output");
  app.add_option("--csv", options.csv, "CSV to a file, - for standard output");
  app.add_option("--html", options.html, "a page with interactive curves to a file");
  app.footer(kModes);
}

/// A mode, and the flags that mean something in it.
struct ModeRow {
  SimMode mode;
  const char* flag;  // "" for the mode without one
  const char* what;
  std::vector<std::string> takes;
};

const std::vector<ModeRow>& modes() {
  using Names = std::vector<std::string>;
  const auto with = [](Names names, const Names& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  static const Names choices = {"collective", "machine", "nodes", "ranks",  "dtype",
                                "library",    "version", "wire",  "launch", "b",
                                "e",          "f",       "bytes", "json",   "csv",
                                "algorithm",  "in-place"};
  static const std::vector<ModeRow> rows = {
      {SimMode::sweep, "--sweep", "draws time against size", with(choices, {"html"})},
      {SimMode::tune, "--tune", "chooses the fastest for each size",
       with(choices, {"max-error", "max-memory", "format", "html"})},
      {SimMode::validate,
       "--validate",
       "reads what was measured from files",
       {"json", "csv", "html"}},
      {SimMode::calibrate, "--calibrate", "reads what was measured from files", {"json", "csv"}},
      {SimMode::inference,
       "--model",
       "asks for the time to a token",
       {"tp", "phase", "batch", "context", "machine", "dtype", "library", "version", "wire",
        "launch", "algorithm", "json", "csv"}},
      {SimMode::claims, "--claims", "computes what was published", {"json", "csv"}},
      {SimMode::predict, "", "predicts single times", choices},
  };
  return rows;
}

/// The mode that was asked for; an error that names a second one, or a flag that it would ignore.
Result<SimMode> read_mode(const CLI::App& app) {
  const ModeRow* chosen = nullptr;
  for (const ModeRow& row : modes()) {
    const bool is_asked = *row.flag == '\0' ? chosen == nullptr : app.count(row.flag) > 0;
    if (!is_asked) continue;
    if (chosen != nullptr) {
      return Error{row.flag, "is a mode, as " + std::string(chosen->flag) + " is", "leave one out"};
    }
    chosen = &row;
  }
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    const bool goes_along =
        std::find(chosen->takes.begin(), chosen->takes.end(), name) != chosen->takes.end();
    if (option->count() == 0 || goes_along || "--" + name == chosen->flag) continue;
    const std::string flag = (name.size() == 1 ? "-" : "--") + name;
    if (*chosen->flag != '\0') {
      return Error{chosen->flag, std::string(chosen->what) + ", and takes no " + flag,
                   "leave it out"};
    }
    std::string takers;
    for (const ModeRow& row : modes()) {
      if (std::find(row.takes.begin(), row.takes.end(), name) == row.takes.end()) continue;
      takers += (takers.empty() ? "" : " or ") + std::string(row.flag);
    }
    return Error{flag, "means nothing without a mode", "with " + takers};
  }
  return chosen->mode;
}

std::optional<Error> read_sizes(const Typed& typed, SimMode mode,
                                std::vector<std::int64_t>& sizes) {
  const bool has_range = !(typed.smallest + typed.largest + typed.factor).empty();
  if (!typed.bytes.empty()) {
    if (has_range) return Error{"--bytes", "stands instead of -b, -e and -f", "leave one out"};
    const auto size = [](const std::string& text) {
      return number("--bytes", text, 1, kMaxBytes, true);
    };
    return read_list(typed.bytes, size, sizes);
  }
  if (!has_range && mode == SimMode::predict) {
    sizes = {std::int64_t{1} << 20};
    return std::nullopt;
  }
  const auto or_default = [](const std::string& text, const char* value) {
    return text.empty() ? std::string(value) : text;
  };
  const auto smallest = number("-b", or_default(typed.smallest, "1K"), 1, kMaxBytes, true);
  const auto largest = number("-e", or_default(typed.largest, "1G"), 1, kMaxBytes, true);
  const auto factor = number("-f", or_default(typed.factor, "2"), 2, 1024);
  if (!smallest) return smallest.error();
  if (!largest) return largest.error();
  if (!factor) return factor.error();
  if (*smallest > *largest) return Error{"-b", "is larger than -e", "swap the two"};
  for (std::int64_t size = *smallest; size <= *largest; size *= *factor) sizes.push_back(size);
  return std::nullopt;
}

/// A number in [0, 1]; NaN is none.
std::optional<Error> read_max_error(const std::string& typed, std::optional<double>& value) {
  if (typed.empty()) return std::nullopt;
  char* end = nullptr;
  const double parsed = std::strtod(typed.c_str(), &end);
  if (*end != '\0' || !(parsed >= 0 && parsed <= 1)) {
    return Error{"--max-error", "'" + typed + "' is not a number from 0 to 1",
                 "0.01 is one percent of the sum of magnitudes"};
  }
  value = parsed;
  return std::nullopt;
}

std::optional<Error> read_tuning(const Typed& typed, SimOptions& options) {
  if (auto error = read_max_error(typed.max_error, options.max_error)) return error;
  if (!typed.max_memory.empty()) {
    const auto memory = number("--max-memory", typed.max_memory, 0, kMaxBytes, true);
    if (!memory) return memory.error();
    options.max_memory = *memory;
  }
  const std::vector<std::string> formats = {"table", "env", "nccl_tuner"};
  if (typed.format.empty()) return std::nullopt;
  const auto found = std::find(formats.begin(), formats.end(), typed.format);
  if (found == formats.end()) {
    return Error{"--format", "unknown format '" + typed.format + "'",
                 model::suggestion(typed.format, formats)};
  }
  options.format = static_cast<TuneFormat>(found - formats.begin());
  return std::nullopt;
}

std::optional<Error> read_inference(const Typed& typed, InferenceOptions& inference) {
  const auto integer = [](const char* flag) {
    return [flag](const std::string& text) {
      const auto value = number(flag, text, 1, 1 << 30, true);
      return value ? Result<int>(static_cast<int>(*value)) : Result<int>(value.error());
    };
  };
  if (auto error = read_list(typed.tensor_parallel, integer("--tp"), inference.tensor_parallel)) {
    return error;
  }
  if (auto error = read_list(typed.batch, integer("--batch"), inference.batch)) return error;
  if (auto error = read_list(typed.context, integer("--context"), inference.context)) return error;
  if (inference.phase.empty() || inference.phase == "decode" || inference.phase == "prefill") {
    return std::nullopt;
  }
  return Error{"--phase", "unknown phase '" + inference.phase + "'",
               model::suggestion(inference.phase, {"decode", "prefill"})};
}

/// Whether the mode is about the collectives and sizes that were typed.
bool has_scenarios(SimMode mode) {
  return mode == SimMode::predict || mode == SimMode::sweep || mode == SimMode::tune ||
         mode == SimMode::inference;
}

/// As a shell takes it: quoted where a word has more than letters, digits and a few signs.
std::string command_line(const Arguments& arguments) {
  std::string line = "tally sim";
  for (const std::string& argument : arguments) {
    const bool is_plain =
        !argument.empty() && std::all_of(argument.begin(), argument.end(), [](unsigned char c) {
          return std::isalnum(c) || std::string_view("-_./,:=+").find(c) != std::string_view::npos;
        });
    line += ' ';
    if (is_plain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace

Result<SimOptions> parse_sim(const Arguments& arguments) {
  CLI::App app("Predicts how long collectives take, and what they make of a program's time.",
               "tally sim");
  Typed typed;
  SimOptions options;
  options.command = command_line(arguments);
  declare(app, typed, options);
  if (auto error = parse_arguments(app, arguments, options.help)) return *error;
  if (options.help) return options;
  if (auto error = check_outputs({options.json, options.csv, options.html})) return *error;
  const auto mode = read_mode(app);
  if (!mode) return mode.error();
  options.mode = *mode;
  std::erase_if(options.folders, [](const std::string& folder) { return folder.empty(); });
  if (auto error = read_tuning(typed, options)) return *error;
  if (auto error = read_inference(typed, options.inference)) return *error;
  if (!has_scenarios(options.mode)) return options;
  if (options.mode != SimMode::inference) {
    if (auto error = read_sizes(typed, options.mode, options.sizes)) return *error;
  }
  const bool is_single = options.mode == SimMode::predict || options.mode == SimMode::inference;
  if (typed.scenarios.algorithm.empty() && is_single) typed.scenarios.algorithm = "auto";
  if (options.mode == SimMode::inference && app.count("--dtype") == 0) {
    typed.scenarios.dtype = "bf16";
  }
  if (options.mode == SimMode::tune && app.count("--wire") == 0) typed.scenarios.wire = "all";
  const auto scenarios = read_scenarios(typed.scenarios);
  if (!scenarios) return scenarios.error();
  options.scenarios = *scenarios;
  if (options.mode == SimMode::tune && typed.scenarios.algorithm.empty()) {
    // A table says what to choose, and auto is no choice.
    std::erase_if(options.scenarios, [](const auto& s) { return s.algorithm == "auto"; });
  }
  return options;
}

}  // namespace tally::cli

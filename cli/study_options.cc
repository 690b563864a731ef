#include "cli/study_options.h"

#include <CLI/CLI.hpp>

#include "cli/option_values.h"
#include "model/builders.h"

namespace tally::cli {
namespace {

using model::Error;
using model::Result;
using study::Plan;

constexpr const char* kWhatIsPrinted = R"(
One row, object or line for each input, dtype, number of ranks, wire, algorithm and accumulator.
The error of an element is the output (alike on all ranks) minus the exact sum of the inputs, as
they are in the dtype. Errors, bias and SQNR are over the elements whose output and exact sum are
both finite.

  max_abs_err, mean_abs_err, rms_err       of the error
  max_rel_err, mean_rel_err, rms_rel_err   of the error over the exact sum, where that is not 0
  sqnr_db                                  10 log10 of summed squares, exact sums over errors
  bias                                     the mean error
  saturated, flushed, nan, infinite        fractions of all elements: something on the way was cut
                                           off at the largest value; 0, but the exact sum is not;
                                           not a number; an infinity
  max_err_over_bound                       the largest error over the bound that follows from the
                                           formats' spacing. No bound covers an element that met a
                                           NaN or an infinity on its way
  wire_bytes_per_element                   codes and scales, as they travel

In JSON and CSV a number that is not finite is null or empty: the SQNR where there is no error.
Exit status: 1 if an error is beyond its bound.
)";

/// What was typed, before it is understood.
struct Typed {
  std::string algorithm, ranks, dtype, wire, accumulate, count, input, seed;
};

void declare(CLI::App& app, Typed& typed, StudyOptions& options) {
  app.add_option("--input", typed.input,
                 "list of what `tally list` names, or FILE.npy [ranks, elements]");
  app.add_option("-d,--dtype", typed.dtype, "list: f32, bf16, f16");
  app.add_option("--count", typed.count,
                 "list of element counts (K, M, G: binary); default: 64K, and a file's row");
  app.add_option("--ranks", typed.ranks, "list of 1..64");
  app.add_option("--wire", typed.wire, "list of what `tally list` names, or all");
  app.add_option("--algorithm", typed.algorithm, "list: flat, flat_ll, tree, ring; or all");
  app.add_option("--accumulate", typed.accumulate,
                 "list: element, f32; default: element, f32 with a wire");
  app.add_option("--seed", typed.seed, "one seed for all that is random (1)");
  app.add_option("--json", options.json, "JSON lines to a file, - for standard output");
  app.add_option("--csv", options.csv, "CSV to a file, - for standard output");
  app.footer(kWhatIsPrinted);
}

std::vector<std::string> all_algorithms() {
  std::vector<std::string> all;
  for (const model::Builder& builder : model::builders()) {
    if (builder.collective == model::Collective::all_reduce) all.emplace_back(builder.algorithm);
  }
  return all;
}

std::optional<Error> read_plan(const Typed& typed, Plan& plan, std::uint64_t& seed) {
  const auto rank = [](const std::string& text) {
    const auto value = number("--ranks", text, 1, study::kMaxRanks);
    return value ? Result<int>(static_cast<int>(*value)) : Result<int>(value.error());
  };
  const auto count = [](const std::string& text) {
    return number("--count", text, 0, study::kMaxCount, true);
  };
  int number_of_seed = 1;
  std::optional<Error> error;
  const auto first = [&](std::optional<Error> found) {
    if (!error) error = std::move(found);
  };
  first(read_list_or_all(typed.algorithm, all_algorithms(), verify::parse_algorithm,
                         plan.algorithms));
  first(read_list(typed.ranks, rank, plan.ranks));
  first(read_list(typed.dtype, verify::parse_dtype, plan.dtypes));
  first(read_list_or_all(typed.wire, model::all_wires(), model::parse_wire, plan.wires));
  first(read_list(typed.accumulate, verify::parse_accumulate, plan.accumulates));
  first(read_list(typed.count, count, plan.counts));
  first(read_number("--seed", typed.seed, 0, 2'147'483'647, number_of_seed));
  if (!error) first(read_list(typed.input, reference::open_input, plan.inputs));
  seed = static_cast<std::uint64_t>(number_of_seed);
  return error;
}

}  // namespace

Result<StudyOptions> parse_study(const Arguments& arguments) {
  CLI::App app("Measures how far collectives are from the exact sums.", "tally study");
  Typed typed;
  StudyOptions options;
  declare(app, typed, options);
  if (auto error = parse_arguments(app, arguments, options.help)) return *error;
  if (options.help) return options;
  if (auto error = check_outputs({options.json, options.csv})) return *error;
  Plan plan = study::default_plan();
  if (auto error = read_plan(typed, plan, options.seed)) return *error;
  const auto cells = study::cells(plan);
  if (!cells) return cells.error();
  options.cells = *cells;
  return options;
}

}  // namespace tally::cli

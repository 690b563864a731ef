#include "cli/sim_predict.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <sstream>

#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/sim_rows.h"
#include "sim/simulate.h"

namespace tally::cli {
namespace {

/// The shape of each family of paths, for n ranks and messages of S bytes on a wire that makes them
/// w S. Rings: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations
/// in MPICH", 2005. One and two shots: as RCCLX's DDA kernels move (meta-pytorch/torchcomms,
/// comms/common/algorithms/all_reduce).
struct Form {
  std::string_view algorithm;
  model::Collective collective;
  std::string_view formula;
};
constexpr Form kForms[] = {
    {"ring", model::Collective::all_reduce, "launch + 2(n-1) hops + 2(n-1)/n wS / link"},
    {"flat_ll", model::Collective::all_reduce, "launch + 1 hop + 2wS / link, n-1 links at once"},
    {"flat", model::Collective::all_reduce,
     "launch + copy S + 2 barriers + wS / link, n-1 at once"},
    {"tree", model::Collective::all_reduce,
     "launch + copy S + 3 barriers + 2/n wS / link, n-1 links at once"},
    {"flat", model::Collective::reduce_scatter,
     "launch + copy S + 2 barriers + wS/n / link, n-1 links at once"},
    {"flat", model::Collective::all_gather,
     "launch + copy S/n + 2 barriers + wS/n / link, n-1 links at once"},
    {"flat", model::Collective::all_to_all,
     "launch + copy S + 2 barriers + wS/n / link, n-1 links at once"},
    {"ring", model::Collective::reduce_scatter, "launch + (n-1) hops + (n-1)/n wS / link"},
    {"ring", model::Collective::all_gather, "launch + (n-1) hops + (n-1)/n wS / link"},
};

/// Empty where a path is of no known shape.
std::string_view closed_form(model::Collective collective, std::string_view path) {
  for (const Form& form : kForms) {
    if (form.collective == collective && path.find(form.algorithm) != std::string_view::npos) {
      return form.formula;
    }
  }
  return "";
}

void explain(const sim::Scenario& scenario, std::int64_t bytes, const sim::Prediction& prediction) {
  fmt::print("{}, {} bytes: {}\n", task_text(scenario), bytes, choice_text(scenario));
  fmt::print("  time         {:.2f} us\n", prediction.time.micros());
  fmt::print("  bandwidth    algbw {:.2f}, busbw {:.2f} (1e9 bytes/s)\n",
             algorithm_bandwidth(prediction, bytes), bus_bandwidth(scenario, prediction, bytes));
  fmt::print("  path         {}\n", prediction.path);
  fmt::print("  bound by     {}\n", prediction.bound_by);
  const std::string_view form = closed_form(scenario.collective, prediction.path);
  if (!form.empty()) fmt::print("  closed form  {}\n", form);
}

/// Where a schedule stands for the path: what takes how long, one phase a line. The other time is
/// fitted to measurements; this one knows the machine's numbers alone.
std::optional<model::Error> print_phases(const sim::Scenario& scenario, std::int64_t bytes,
                                         const std::string& path) {
  const auto machine = model::find_machine(scenario.machine, scenario.nodes);
  if (!machine) return machine.error();
  const auto timing = sim::simulate(scenario, *machine, path, bytes);
  if (!timing) return timing.error();
  if (!*timing) return std::nullopt;
  fmt::print("  simulated    {:.2f} us from the machine's own numbers:\n",
             (*timing)->total.micros());
  std::istringstream lines(sim::to_text(**timing));
  for (std::string line; std::getline(lines, line);) fmt::print("    {}\n", line);
  return std::nullopt;
}

}  // namespace

int sim_predict(const SimOptions& options) {
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json), csv = files.open_or_stdout(options.csv);
  if (!json) return complain(json.error());
  if (!csv) return complain(csv.error());
  bool has_header = false;
  for (const sim::Scenario& scenario : options.scenarios) {
    for (const std::int64_t bytes : options.sizes) {
      const auto prediction = sim::predict(scenario, bytes);
      if (!prediction) return complain(prediction.error());
      const Json fields = prediction_fields(scenario, bytes, *prediction);
      if (*json != nullptr) write_json(**json, fields);
      if (*csv != nullptr) **csv << (has_header ? "" : csv_header(fields)) << csv_line(fields);
      has_header = true;
      if (!options.table_on_stdout()) continue;
      explain(scenario, bytes, *prediction);
      const auto error = print_phases(scenario, bytes, prediction->path);
      if (error) return complain(*error);
    }
  }
  std::fflush(stdout);
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

}  // namespace tally::cli

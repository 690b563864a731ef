#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option_values.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "model/suggestion.h"
#include "verify/fault_report.h"
#include "verify/museum.h"

namespace tally::cli {
namespace {

struct FaultsOptions {
  std::optional<std::string> help;
  std::vector<std::string> names;
  std::string json;
};

model::Result<FaultsOptions> parse(const Arguments& arguments) {
  CLI::App app(
      "Plants every known fault and every generated one, one at a time, and shows what caught it; "
      "healthy kernels must not be accused.",
      "tally faults");
  FaultsOptions options;
  app.add_option("NAME", options.names, "only these, as the table names them");
  app.add_option("--json", options.json, "JSON lines to a file, - for standard output");
  if (auto error = parse_arguments(app, arguments, options.help)) return *error;
  return options;
}

/// Those with one of the names; all where there is none.
model::Result<std::vector<verify::Exhibit>> chosen(std::vector<verify::Exhibit> all,
                                                   const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const auto& exhibit : all) known.push_back(exhibit.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return model::Error{"faults", "unknown fault '" + name + "'", model::suggestion(name, known)};
  }
  if (!names.empty()) {
    std::erase_if(all, [&](const verify::Exhibit& exhibit) {
      return std::find(names.begin(), names.end(), exhibit.name) == names.end();
    });
  }
  return all;
}

}  // namespace

int faults(const Arguments& arguments) {
  const auto options = parse(arguments);
  if (!options) return complain(options.error());
  if (options->help) {
    std::cout << *options->help;
    return kHeld;
  }
  const auto exhibits = chosen(tally::verify::museum(), options->names);
  if (!exhibits) return complain(exhibits.error());
  OutputFiles files;
  std::vector<std::unique_ptr<tally::verify::FaultReport>> reports;
  if (!options->json.empty() && options->json != "-") {
    const auto stream = files.open(options->json);
    if (!stream) return complain(stream.error());
    reports.push_back(tally::verify::fault_json(**stream));
  }
  reports.push_back(options->json == "-" ? tally::verify::fault_json(std::cout)
                                         : tally::verify::fault_table(std::cout));
  Progress progress(exhibits->size(), 4, "exhibits");
  bool all_hold = true;
  tally::verify::show(*exhibits, [&](const tally::verify::ExhibitResult& result) {
    for (const auto& report : reports) report->add(result);
    all_hold &= result.holds();
    progress.step();
  });
  for (const auto& report : reports) report->finish();
  if (const auto error = files.finish()) return complain(*error);
  return all_hold ? kHeld : kFailed;
}

}  // namespace tally::cli

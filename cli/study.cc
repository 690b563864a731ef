#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/study_options.h"
#include "cli/study_report.h"
#include "study/measure.h"
namespace tally::cli {
namespace {

using Reports = std::vector<std::unique_ptr<StudyReport>>;

/// The reports that were asked for. Standard output is written to only when all is well so far.
model::Result<Reports> open_reports(const StudyOptions& options, OutputFiles& files) {
  const std::pair<const std::string*, std::unique_ptr<StudyReport> (*)(std::ostream&)> kinds[] = {
      {&options.json, study_json}, {&options.csv, study_csv}};
  Reports reports;
  for (const auto& [file, make] : kinds) {
    if (file->empty() || *file == "-") continue;
    const auto stream = files.open(*file);
    if (!stream) return stream.error();
    reports.push_back(make(**stream));
  }
  for (const auto& [file, make] : kinds) {
    if (*file == "-") reports.push_back(make(std::cout));
  }
  if (options.table_on_stdout()) reports.push_back(study_table(std::cout));
  return {std::move(reports)};
}

}  // namespace

int study(const Arguments& arguments) {
  const auto options = parse_study(arguments);
  if (!options) return complain(options.error());
  if (options->help) {
    std::cout << *options->help;
    return kHeld;
  }
  OutputFiles files;
  const auto reports = open_reports(*options, files);
  if (!reports) return complain(reports.error());
  const std::size_t cells = options->cells.size();
  Progress progress(cells, 1, "cells");
  std::size_t beyond = 0;
  const auto threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  tally::study::measure(options->cells, options->seed, threads,
                        [&](const tally::study::Measurement& measurement) {
                          for (const auto& report : *reports) report->add(measurement);
                          if (!tally::study::is_within_bounds(measurement.errors)) ++beyond;
                          progress.step();
                        });
  if (const auto error = files.finish()) return complain(*error);
  if (beyond == 0) return kHeld;
  fmt::print(stderr, "tally: in {} of {} cells an error is beyond its bound\n", beyond, cells);
  return kFailed;
}

}  // namespace tally::cli

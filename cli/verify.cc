#include <fmt/format.h>

#include <chrono>
#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/verify_options.h"
#include "cli/verify_time.h"
#include "verify/conversion_check.h"
#include "verify/report.h"
#include "verify/subject.h"

namespace tally::cli {
namespace {

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// The reports that were asked for, with the files that they write to.
class Reports {
 public:
  std::optional<model::Error> open(const VerifyOptions& options) {
    const std::pair<const std::string*, std::unique_ptr<verify::Report> (*)(std::ostream&)>
        kinds[] = {{&options.json, verify::json_report},
                   {&options.csv, verify::csv_report},
                   {&options.junit, verify::junit_report}};
    for (const auto& [file, make] : kinds) {
      if (file->empty() || *file == "-") continue;
      const auto stream = files_.open(*file);
      if (!stream) return stream.error();
      reports_.push_back(make(**stream));
    }
    // Standard output is written to only when all is well so far.
    for (const auto& [file, make] : kinds) {
      if (*file == "-") reports_.push_back(make(std::cout));
    }
    if (options.table_on_stdout()) reports_.push_back(verify::table_report(std::cout));
    return std::nullopt;
  }

  void add(const verify::CaseResult& result) {
    for (const auto& report : reports_) report->add(result);
  }

  /// An error where not everything could be written.
  std::optional<model::Error> finish(const verify::Summary& summary) {
    for (const auto& report : reports_) report->finish(summary);
    return files_.finish();
  }

 private:
  OutputFiles files_;
  std::vector<std::unique_ptr<verify::Report>> reports_;
};

int verify_conversions(const VerifyOptions& options) {
  if (options.subject != "gpu") {
    return complain({"--conversions", "are a GPU's", "--subject gpu"});
  }
  auto& gpu = *kernels::hardware::linked_gpu_runtime();
  return tally::verify::check_conversions(gpu, options.devices, std::cout) ? kHeld : kFailed;
}

}  // namespace

int verify(const Arguments& arguments) {
  const auto options = parse_verify(arguments);
  if (!options) return complain(options.error());
  if (options->help) {
    std::cout << *options->help;
    return kHeld;
  }
  const auto found = tally::verify::find_subject(
      options->subject, {kernels::hardware::linked_gpu_runtime(), options->devices});
  if (!found) return complain(found.error());
  if (found->subject == nullptr) {
    fmt::print(stderr,
               "tally: subject '{}' is not available here: {}\n  hint: --subject emulator needs "
               "no GPU\n",
               options->subject, found->unavailable);
    return kNotHere;
  }
  if (options->conversions) return verify_conversions(*options);
  if (options->timed) return verify_time(*options);
  Reports reports;
  if (const auto error = reports.open(*options)) return complain(*error);
  Progress progress(options->cases.size(), 64, "cases");
  const auto summary = tally::verify::run_campaign(
      options->cases, *found->subject,
      [&](const tally::verify::CaseResult& result) {
        reports.add(result);
        progress.step();
      },
      now);
  if (const auto error = reports.finish(summary)) return complain(*error);
  return summary.exit_status();
}

}  // namespace tally::cli

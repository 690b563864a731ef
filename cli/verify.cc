#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/verify_options.h"
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
      files_.push_back(std::make_unique<std::ofstream>(*file));
      if (!*files_.back()) {
        return model::Error{*file, "cannot be written", "check the folder and its permissions"};
      }
      reports_.push_back(make(*files_.back()));
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
    std::cout.flush();
    bool written = bool(std::cout);
    for (const auto& file : files_) written &= bool(file->flush());
    if (written) return std::nullopt;
    return model::Error{"results", "could not all be written", "is the disk full?"};
  }

 private:
  std::vector<std::unique_ptr<std::ofstream>> files_;
  std::vector<std::unique_ptr<verify::Report>> reports_;
};

/// On a terminal, how far the run is.
class Progress {
 public:
  explicit Progress(std::size_t cases)
      : cases_(cases), on_(isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0) {}
  void step() {
    if (on_ && (++done_ % 64 == 0 || done_ == cases_)) {
      fmt::print(stderr, "\r{} of {} cases{}", done_, cases_, done_ == cases_ ? "\n" : "");
    }
  }

 private:
  std::size_t cases_, done_ = 0;
  bool on_;
};

}  // namespace

int verify(const Arguments& arguments) {
  const auto options = parse_verify(arguments);
  if (!options) return complain(options.error());
  if (options->help) {
    std::cout << *options->help;
    return kHeld;
  }
  const auto subject = tally::verify::find_subject(options->subject);
  if (!subject) return complain(subject.error());
  if (*subject == nullptr) {
    fmt::print(stderr,
               "tally: subject '{}' is not available here\n  hint: --subject emulator needs "
               "no GPU\n",
               options->subject);
    return kNotHere;
  }
  Reports reports;
  if (const auto error = reports.open(*options)) return complain(*error);
  Progress progress(options->cases.size());
  const auto summary = tally::verify::run_campaign(
      options->cases, **subject,
      [&](const tally::verify::CaseResult& result) {
        reports.add(result);
        progress.step();
      },
      now);
  if (const auto error = reports.finish(summary)) return complain(*error);
  return summary.exit_status();
}

}  // namespace tally::cli

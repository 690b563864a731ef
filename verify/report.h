#pragma once

// The forms in which results are handed out. Each writes to a stream as results come.

#include <memory>
#include <ostream>

#include "verify/campaign.h"

namespace tally::verify {

class Report {
 public:
  virtual ~Report() = default;
  virtual void add(const CaseResult& result) = 0;
  virtual void finish(const Summary& summary) = 0;
};

// Where the summary describes the subject (GPUs and versions), so does each but CSV: in a last
// line, in the summary's object, as a property of the testsuite.

/// The columns that rccl-tests users know, then ours. A failure's replay line and reason follow
/// its row.
std::unique_ptr<Report> table_report(std::ostream& out);
/// One JSON object a line for each case, and a last one with the summary.
std::unique_ptr<Report> json_report(std::ostream& out);
std::unique_ptr<Report> csv_report(std::ostream& out);
/// JUnit XML: one testsuite, written when it is finished.
std::unique_ptr<Report> junit_report(std::ostream& out);

}  // namespace tally::verify

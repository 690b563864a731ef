#pragma once

// The forms in which `tally study` hands out its measurements. Each writes as they come.

#include <memory>
#include <ostream>

#include "study/measure.h"

namespace tally::cli {

class StudyReport {
 public:
  virtual ~StudyReport() = default;
  virtual void add(const study::Measurement& measurement) = 0;
};

/// For people: the most used columns, rounded.
std::unique_ptr<StudyReport> study_table(std::ostream& out);
/// One JSON object a line. What is not finite is null.
std::unique_ptr<StudyReport> study_json(std::ostream& out);
/// The same columns, with a header. What is not finite is empty.
std::unique_ptr<StudyReport> study_csv(std::ostream& out);

}  // namespace tally::cli

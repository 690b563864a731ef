#pragma once

// The forms in which `tally faults` hands out what it found.

#include <memory>
#include <ostream>

#include "verify/exhibit.h"

namespace tally::verify {

class FaultReport {
 public:
  virtual ~FaultReport() = default;
  virtual void add(const ExhibitResult& result) = 0;
  virtual void finish() = 0;
};

/// A row for each exhibit; below a row that does not hold, what was seen. Then how many of each.
std::unique_ptr<FaultReport> fault_table(std::ostream& out);
/// One JSON object a line.
std::unique_ptr<FaultReport> fault_json(std::ostream& out);

}  // namespace tally::verify

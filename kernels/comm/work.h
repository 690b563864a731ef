#pragma once

// A collective that was issued.

#include <memory>
#include <optional>
#include <vector>

#include "model/result.h"

namespace tally::comm {

class Work {
 public:
  enum class Status { NOT_STARTED, INPROGRESS, COMPLETED, TIMEDOUT, ERROR };
  virtual ~Work() = default;

  /// Waits, on the host, until the collective has ended; within the communicator's timeout. The
  /// error, if it failed, now and every time: in torchcomms wait() is silent once the status is
  /// ERROR or TIMEDOUT, so that a caller who missed the first answer takes garbage for results.
  virtual std::optional<model::Error> wait() = 0;
  /// Does not wait.
  virtual Status status() = 0;
  bool is_completed() { return status() == Status::COMPLETED; }
};

/// One that has ended.
std::shared_ptr<Work> completed_work();
/// One made of several, which follow each other.
std::shared_ptr<Work> work_of(std::vector<std::shared_ptr<Work>> parts);

}  // namespace tally::comm

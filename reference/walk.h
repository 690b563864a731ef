#pragma once

// Visits the steps of a schedule in an order that its signals and waits allow.

#include <functional>
#include <optional>

#include "model/schedule.h"

namespace tally::reference {

/// A lane that cannot go on, and the wait at which it stands.
struct Stuck {
  int rank, lane;
  std::size_t step;
};

/// Calls visit(rank, lane, step) for every step, each lane's in order, a wait after its signal.
/// Lanes are taken in turn, each as far as it goes, so the order is the same on every call.
/// Returns the first stuck lane of a schedule that deadlocks; what could run has been visited.
std::optional<Stuck> walk(const model::Schedule& schedule,
                          const std::function<void(int, int, const model::Step&)>& visit);

}  // namespace tally::reference

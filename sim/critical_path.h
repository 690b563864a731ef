#pragma once

// From what every lane did to the phases of the longest chain. Only sim/time.cc uses it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/time.h"

namespace tally::sim {

/// A stage that has ended. It began when the one before it was ready.
struct StageRecord {
  std::string_view name;
  Picos worked;  // when its work was done
  Picos ready;   // when it had seen its signals too
  int cause_lane =
      -1;  // whose signal it saw last, sent when that lane's stage had worked; -1: none
  int cause_stage = -1;
  int bottleneck = -1;  // the resource of the flow that ended last; -1: there was no work
};
using History = std::vector<std::vector<StageRecord>>;  // [lane][stage]

/// The chain that ends with the last lane (of several, the first), followed back over what each
/// moment waited for, to the launch. The first word of a resource's name is its kind.
Timing critical_path(const History& history, const Costs& costs,
                     const std::function<std::string(int)>& name_of_resource);

}  // namespace tally::sim

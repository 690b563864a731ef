#pragma once

// The built-in algorithms: pure functions from a shape to a schedule.

#include <span>
#include <string_view>

#include "model/schedule.h"

namespace tally::model {

/// What a builder is asked for: 1..64 ranks, any count >= 0, any number of lanes >= 1.
struct Shape {
  int ranks = 1;
  std::int64_t count = 0;
  int lanes = 1;
  bool in_place = false;
  Arithmetic arithmetic;
};

/// Direct Data Access, one shot: every rank stages its input where peers can read it, and sums
/// all of them. RCCLX: ddaAllReduceFlatIpc (meta-pytorch/torchcomms).
Schedule flat_all_reduce(const Shape& shape);

/// Direct Data Access, two shots: every rank sums its own chunk, in place in its staging buffer,
/// and then fetches the other chunks. RCCLX: ddaAllReduceTreeIpc, which is no tree.
Schedule tree_all_reduce(const Shape& shape);

struct Builder {
  std::string_view algorithm;
  Collective collective;
  Schedule (*build)(const Shape&);
};
std::span<const Builder> builders();
/// Null where there is none of that name.
const Builder* find_builder(Collective collective, std::string_view algorithm);

}  // namespace tally::model

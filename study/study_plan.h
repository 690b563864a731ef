#pragma once

// What a numerical study measures: lists that are multiplied out into cells.

#include <cstdint>
#include <string>
#include <vector>

#include "model/collective.h"
#include "model/result.h"
#include "reference/inputs.h"

namespace tally::study {

inline constexpr int kMaxRanks = 64;
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;
/// Of a cell whose input has any length, where no count was asked for.
inline constexpr std::int64_t kDefaultCount = std::int64_t{1} << 16;

/// One all-reduce (sum) on one kind of input.
struct Cell {
  reference::Input input;
  std::string algorithm;
  model::Arithmetic arithmetic;
  int ranks = 1;
  std::int64_t count = 0;
};

struct Plan {
  std::vector<reference::Input> inputs;
  std::vector<model::Format> dtypes;
  std::vector<std::int64_t> counts;  // empty: kDefaultCount, and for a file its row length
  std::vector<int> ranks;
  std::vector<model::Wire> wires;
  std::vector<std::string> algorithms;
  std::vector<model::Accumulate> accumulates;  // empty: element without a wire, f32 with one
};

/// What `tally study` measures when nothing is asked for.
Plan default_plan();

/// All cells of the plan, the later lists varying faster. A wire and algorithm take those of the
/// accumulators that they allow; it is an error where that is none, or where a file is too small.
model::Result<std::vector<Cell>> cells(const Plan& plan);

}  // namespace tally::study

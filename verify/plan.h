#pragma once

// Which cases: lists that are multiplied out.

#include <optional>
#include <string>
#include <vector>

#include "verify/case.h"

namespace tally::verify {

struct Plan {
  std::vector<model::Collective> collectives;
  std::vector<std::string> algorithms;
  std::vector<model::Format> dtypes;
  std::vector<model::Wire> wires;
  std::vector<model::Op> ops;
  std::vector<int> ranks;
  // Where both are empty: a range of small counts, and for a file its row length.
  std::vector<std::int64_t> counts;  // elements
  std::vector<std::int64_t> sizes;   // bytes
  std::vector<Placement> placements;
  std::vector<Input> inputs;
  std::optional<model::Accumulate> accumulate;  // nothing: element without a wire, f32 with one
  int calls = 3;  // a case's calls: its count, about a third, a little more, and so on
  LaunchShape launch;
  std::uint64_t seed = 1;
  int interleavings = 1;
  std::string fault;
  int shard = 0, shards = 1;  // every shards-th case, beginning with this one
};

/// What `tally verify` runs when nothing is asked for, without the inputs that are files.
Plan default_plan();

/// The tensors in Tally's own tests/data, by name; an error where there is none.
model::Result<std::vector<Input>> bundled_tensors();

/// All cases of the plan, in a fixed order; an error where a case does not fit together.
model::Result<std::vector<Case>> cases(const Plan& plan);

}  // namespace tally::verify

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
  std::vector<model::ElementType> dtypes;
  std::vector<model::Wire> wires;
  std::vector<model::Op> ops;
  std::vector<int> ranks;
  // Where both are empty: a range of small counts, and for a file its row length.
  std::vector<std::int64_t> counts;  // elements
  std::vector<std::int64_t> sizes;   // bytes
  std::vector<Placement> placements;
  std::vector<reference::Input> inputs;
  bool with_tensors = false;  // the bundled ones beside `inputs`, where no sizes are asked for
  std::optional<model::Accumulate> accumulate;  // nothing: element without a wire, f32 with one
  float factor = 1;                             // of premul_sum
  /// Combinations that missing() names are left out where some are allowed: for lists that
  /// nobody chose. Otherwise they are an error.
  bool leaves_out_missing = false;
  int calls = 3;  // a case's calls: its count, about a third, a little more, and so on
  LaunchShape launch;
  bool graph = false;  // calls are replays, all of one size
  std::uint64_t seed = 1;
  int interleavings = 1;
  MemoryKind memory = MemoryKind::strong;
  std::string fault;
  int shard = 0, shards = 1;  // every shards-th case, beginning with this one
};

/// What `tally verify` runs when nothing is asked for. The first two are sums with every kind of
/// wire, of drawn inputs and of the bundled tensors; the others are averages, and the operations
/// that have no wire, on fewer sizes, and there flat_ll too; then replayed graphs, the collectives
/// of blocks, and of these the ones that only move, with types that only move.
std::vector<Plan> default_plans();

/// All cases of the plans, in a fixed order and each once; an error where a case does not fit
/// together, or where nothing but combinations that are left out was asked for.
model::Result<std::vector<Case>> cases(const std::vector<Plan>& plans);

}  // namespace tally::verify

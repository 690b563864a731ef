#pragma once

// The interpreter: the output bits of every rank.

#include <cstddef>
#include <vector>

#include "model/schedule.h"

namespace tally::reference {

/// The elements of one buffer of each rank, as little-endian codes of the element type.
using RankBuffers = std::vector<std::vector<std::byte>>;

/// What the schedule leaves in the output of every rank.
/// inputs: one buffer of input_elements codes for each rank. NaN in an element gives NaN in what
/// is made of it; infinities, signed zeros and overflow follow the formats, nearest-even. What only
/// moves, without a wire, keeps its bits, those of NaN too. Elements of an output that the blocks
/// of all_to_all_v do not reach are 0, or in run_into() as they were.
/// A schedule that deadlocks or whose inputs have another size is our own mistake (TALLY_CHECK).
RankBuffers run(const model::Schedule& schedule, const RankBuffers& inputs);

/// The same into `outputs`, whose memory is used again where it has the right size.
void run_into(const model::Schedule& schedule, const RankBuffers& inputs, RankBuffers& outputs);

}  // namespace tally::reference

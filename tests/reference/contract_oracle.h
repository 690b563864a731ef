#pragma once

// Collectives as docs/arithmetic.md has them, in a few lines: for comparison with the interpreter
// of schedules, of which this has never heard.

#include <cstdint>
#include <string>
#include <vector>

#include "model/collective.h"
#include "reference/run.h"

namespace tally::test {

/// The outputs of the all-reduce "flat", "tree" or "ring".
reference::RankBuffers contract_oracle(const std::string& algorithm, const model::Arithmetic&,
                                       const reference::RankBuffers& inputs);

/// The outputs of another collective, of `count` elements: reduce_scatter, all_gather, all_to_all
/// or all_to_all_v, of which the latter has send_counts, and zeros after its last block.
reference::RankBuffers contract_oracle(model::Collective, const model::Arithmetic&,
                                       const reference::RankBuffers& inputs, std::int64_t count,
                                       const std::vector<std::int64_t>& send_counts = {});

/// Every element format with every wire, operation and accumulator that go together in that
/// algorithm; blocks as in model::all_wires(), and of 256 elements.
std::vector<model::Arithmetic> every_arithmetic(const std::string& algorithm);

/// Three quarters of the runs of 16 elements hold numbers of moderate size on all ranks, so that
/// not every block has a NaN somewhere; the others hold random_code.
reference::RankBuffers mixed_inputs(model::Format, int ranks, std::int64_t count,
                                    std::uint64_t seed);

}  // namespace tally::test

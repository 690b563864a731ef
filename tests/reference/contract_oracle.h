#pragma once

// All-reduces as docs/arithmetic.md has them, in a few lines: for comparison with the interpreter
// of schedules, of which this has never heard.

#include <cstdint>
#include <string>
#include <vector>

#include "model/collective.h"
#include "reference/run.h"

namespace tally::test {

/// The outputs of "flat", "tree" or "ring".
reference::RankBuffers contract_oracle(const std::string& algorithm, const model::Arithmetic&,
                                       const reference::RankBuffers& inputs);

/// Every element format with every wire, operation and accumulator that go together in that
/// algorithm; blocks as in model::all_wires(), and of 256 elements.
std::vector<model::Arithmetic> every_arithmetic(const std::string& algorithm);

/// Three quarters of the runs of 16 elements hold numbers of moderate size on all ranks, so that
/// not every block has a NaN somewhere; the others hold random_code.
reference::RankBuffers mixed_inputs(model::Format, int ranks, std::int64_t count,
                                    std::uint64_t seed);

}  // namespace tally::test

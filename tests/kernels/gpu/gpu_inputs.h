#pragma once

// Inputs of the runs on a GPU: ordinary numbers, values about the formats' limits, any bits at all.

#include <cstdint>

#include "tests/kernels/gpu/virtual_ranks.h"

namespace tally::kernels::test {

/// One buffer of `count` codes for each rank. Every other element is an ordinary number on all
/// ranks; a quarter is about the limits of the narrow formats on some ranks, NaN, infinity, signed
/// zeros and subnormals among them; a quarter is random bits on one rank.
RankBuffers make_inputs(model::Format element, int ranks, std::int64_t count, std::uint64_t seed);

/// The values about the limits: of each format narrower than f32, what rounds to the largest finite
/// value, to what is beyond it, and to the smallest; with the neighbours on both sides.
const std::vector<float>& limit_values();

}  // namespace tally::kernels::test
